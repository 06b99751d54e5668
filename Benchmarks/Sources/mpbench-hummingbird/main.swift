import Hummingbird
import HummingbirdHTTP2
print("hello")
