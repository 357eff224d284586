// Preloaded by variant-choice.test.ts: notes in a file which threads are asked for, and starts none beyond a number of them. Both are told
// by environment variables, which the process sets once it has the threads that it needs itself.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*Create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  const char* most = getenv("FEW_THREADS");
  const char* path = getenv("FEW_THREADS_LOG");
  if (most != NULL && path != NULL) {
    static int num_started;
    const int starts = num_started < atoi(most);
    FILE* log = fopen(path, "a");
    if (log != NULL) {
      fprintf(log, starts ? "started\n" : "refused\n");
      fclose(log);
    }
    if (!starts) return EAGAIN;
    ++num_started;
  }
  return ((Create)dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, body, argument);
}
