#pragma once

// The standard streams (bit 0, 1, 2) that were closed when the program was started.
int command_closed_streams(void);
