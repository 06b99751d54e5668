// The libmnl door. Only LinuxNet imports this module.
#include <libmnl/libmnl.h>
