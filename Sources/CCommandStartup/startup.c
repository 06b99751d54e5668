// Runs before the Swift runtime and Dispatch open descriptors of their own: a standard stream that was closed
// when the program started would be the first number they get, and payload would be written there.

#include "command_startup.h"

#include <fcntl.h>
#include <unistd.h>

static int closed_streams;

__attribute__((constructor)) static void take_standard_streams(void) {
    for (int number = 0; number < 3; number++) {
        if (fcntl(number, F_GETFD) >= 0) continue;
        closed_streams |= 1 << number;
        // The lowest free number is this one, because those below are taken. A closed input is at its end.
        (void)!open("/dev/null", number == 0 ? O_RDONLY : O_WRONLY);
    }
}

int command_closed_streams(void) { return closed_streams; }
