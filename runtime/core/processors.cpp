#include "runtime/core/processors.h"

#ifdef __linux__
#include <sched.h>
#endif

namespace etlab {

#ifdef __linux__

int current_processor() { return sched_getcpu(); }

void leave_processor(int processor) {
  cpu_set_t allowed;
  if (processor < 0 || processor >= CPU_SETSIZE ||
      sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || !CPU_ISSET(processor, &allowed) ||
      CPU_COUNT(&allowed) < 2) {
    return;
  }
  cpu_set_t others = allowed;
  CPU_CLR(processor, &others);
  // Narrowing the set moves the thread at once; it may go anywhere again afterwards.
  if (sched_setaffinity(0, sizeof(others), &others) == 0) {
    sched_setaffinity(0, sizeof(allowed), &allowed);
  }
}

#else

int current_processor() { return -1; }
void leave_processor(int /*processor*/) {}

#endif

}  // namespace etlab
