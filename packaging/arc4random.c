/* Random numbers for static libraries of Debian 12 (libstdc++, libzip), which take them from glibc 2.36. These work with
   all versions since 2.25. */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void arc4random_buf(void* into, size_t size) {
  char* next = into;
  while (size > 0) {
    const ssize_t got = getrandom(next, size, 0);
    if (got < 0 && errno != EINTR) abort();
    if (got < 0) continue;
    next += got;
    size -= (size_t)got;
  }
}

unsigned arc4random(void) {
  unsigned value;
  arc4random_buf(&value, sizeof value);
  return value;
}
