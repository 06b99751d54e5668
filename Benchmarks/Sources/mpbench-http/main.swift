import AsyncHTTPClient
import MultipathHTTP
print("hello")
