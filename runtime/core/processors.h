#pragma once

namespace etlab {

// The processor that the calling thread runs on at this moment; -1 where the system does not tell.
int current_processor();

// Moves the calling thread away from `processor`, if it may run on another one. Systems wake a thread
// where its waker runs, and take milliseconds to see that two share one processor while others idle.
void leave_processor(int processor);

}  // namespace etlab
