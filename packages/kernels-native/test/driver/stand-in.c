// A stand-in for the NVIDIA driver: device memory is host memory, kernels do nothing. What goes wrong is chosen by
// environment variables, so that the loader and its errors can be tested where there is no GPU.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define API __declspec(dllexport)
#else
#define API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
#define EXPORT extern "C" API
#define THREAD_LOCAL thread_local
#else
#define EXPORT API
#define THREAD_LOCAL _Thread_local
#endif

typedef int R;
enum { OK = 0, OUT_OF_MEMORY = 2, NO_DEVICE = 100, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, ALREADY_ENABLED = 704, NOT_SUPPORTED = 801 };

static int setting(const char* name, int fallback) {
  const char* text = getenv(name);
  return text != NULL ? atoi(text) : fallback;
}

static int64_t used_bytes;
static int num_launches;

/* Each GPU has one context. A launch may lose the one that is current, and no other. */
static void* context_of(int d) { return (void*)(uintptr_t)(16 * (d + 1)); }
static THREAD_LOCAL void* current;
static void* lost;

static R state_of(void* c) { return lost != NULL && c == lost ? ILLEGAL_ADDRESS : OK; }
static R state(void) { return state_of(current); }

static R init(unsigned flags) { return flags == 0 && setting("STAND_IN_DEVICES", 1) == 0 ? NO_DEVICE : OK; }
static R driver_version(int* v) {
  *v = setting("STAND_IN_VERSION", 13000);
  return OK;
}
static R device_count(int* n) {
  *n = setting("STAND_IN_DEVICES", 1);
  return OK;
}
static R device_get(int* d, int i) {
  *d = i;
  return OK;
}
static R device_name(char* b, int n, int d) {
  snprintf(b, (size_t)n, "Stand-in GPU %d", d);
  return OK;
}
static R device_attribute(int* v, int which, int d) {
  (void)d;
  *v = which == 75 ? setting("STAND_IN_MAJOR", 9) : which == 76 ? 0 : which == 16 ? 4 : which == 97 ? 232448 : 1 << 20;
  return OK;
}
static R total_memory(size_t* n, int d) {
  (void)d;
  *n = (size_t)1 << 30;
  return OK;
}
static R error_name(R r, const char** s) {
  *s = r == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_STAND_IN";
  return OK;
}
static R error_text(R r, const char** s) {
  *s = r == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "stand-in";
  return OK;
}
static R retain(void** c, int d) {
  *c = context_of(d);
  return state_of(*c);
}
static R release(int d) {
  (void)d;
  return OK;
}
static R reset(int d) {
  if (lost == context_of(d)) lost = NULL;
  return OK;
}
static R set_current(void* c) {
  current = c;
  return state();
}
static R module_load(void** m, const void* image, unsigned n, int* o, void** v) {
  (void)n;
  (void)o;
  (void)v;
  *m = (void*)image;
  return setting("STAND_IN_MODULE", OK);
}
static R module_unload(void* m) {
  (void)m;
  return OK;
}
/* The kernels and what a launch of each takes on the clock that events show. A handle is a position, from 1. */
static const struct {
  const char* name;
  double us;
} kernels[] = {{"copy_vector", 500},
               {"copy_scalar", 500},
               {"linear_mma_f16_m128n128", 300},
               {"linear_mma_f16_m64n64", 200},
               {"linear_plain_f16", 100}};
static double clock_us;
static R module_function(void** f, void* m, const char* symbol) {
  (void)m;
  for (uintptr_t i = 0; i < sizeof kernels / sizeof *kernels; ++i) {
    if (strcmp(kernels[i].name, symbol) != 0) continue;
    *f = (void*)(i + 1);
    return OK;
  }
  return NOT_FOUND;
}
static R function_count(unsigned* n, void* m) {
  (void)m;
  *n = sizeof kernels / sizeof *kernels;
  return OK;
}
static R functions(void** f, unsigned n, void* m) {
  (void)m;
  for (unsigned i = 0; i < n; ++i) f[i] = (void*)(uintptr_t)(i + 1);
  return OK;
}
static R function_name(const char** s, void* f) {
  *s = kernels[(uintptr_t)f - 1].name;
  return OK;
}
static R set_attribute(void* f, int a, int v) {
  (void)f;
  (void)a;
  (void)v;
  return OK;
}
static int64_t limit_bytes(void) { return (int64_t)setting("STAND_IN_MEBIBYTES", 256) << 20; }
static R memory_info(size_t* f, size_t* t) {
  *t = (size_t)limit_bytes();
  *f = (size_t)(limit_bytes() - used_bytes);
  return OK;
}
static R allocate(uint64_t* p, size_t n) {
  if (state() != OK) return ILLEGAL_ADDRESS;
  if (used_bytes + (int64_t)n > limit_bytes()) return OUT_OF_MEMORY;
  int64_t* block = (int64_t*)aligned_alloc(256, (n + 511) / 256 * 256);
  block[0] = (int64_t)n;
  used_bytes += (int64_t)n;
  *p = (uint64_t)(uintptr_t)block + 256;
  return OK;
}
static R release_memory(uint64_t p) {
  int64_t* block = (int64_t*)(uintptr_t)(p - 256);
  used_bytes -= block[0];
  free(block);
  return OK;
}
static R host_allocate(void** p, size_t n, unsigned f) {
  (void)f;
  *p = malloc(n);
  return OK;
}
static R host_free(void* p) {
  free(p);
  return OK;
}
static R to_device(uint64_t d, const void* s, size_t n, void* q) {
  (void)q;
  memcpy((void*)(uintptr_t)d, s, n);
  return state();
}
static R to_host(void* d, uint64_t s, size_t n, void* q) {
  (void)q;
  memcpy(d, (void*)(uintptr_t)s, n);
  return state();
}
static R on_device(uint64_t d, uint64_t s, size_t n, void* q) { return to_device(d, (void*)(uintptr_t)s, n, q); }
/* Whether a context reaches another's memory, by their numbers. */
static int reached[8][8];
static int* reaches(void* a, void* b) { return &reached[(uintptr_t)a / 16][(uintptr_t)b / 16]; }
/* Notes in a file how each copy goes. */
static R to_peer(uint64_t d, void* a, uint64_t s, void* b, size_t n, void* q) {
  const char* path = getenv("STAND_IN_PEER_LOG");
  FILE* log = path != NULL ? fopen(path, "a") : NULL;
  if (log != NULL) {
    fprintf(log, *reaches(a, b) ? "direct\n" : "staged\n");
    fclose(log);
  }
  if (state_of(a) != OK || state_of(b) != OK) return ILLEGAL_ADDRESS;
  return on_device(d, s, n, q);
}
static R fill(uint64_t d, unsigned char v, size_t n, void* q) {
  (void)q;
  memset((void*)(uintptr_t)d, v, n);
  return state();
}
static R create(void** h, unsigned f) {
  (void)f;
  *h = calloc(1, sizeof(double));
  return state();
}
static R destroy(void* h) {
  free(h);
  return OK;
}
static R one(void* h) {
  (void)h;
  return state();
}
static R two(void* a, void* b) {
  (void)a;
  (void)b;
  return state();
}
static R begin_capture(void* q, int m) {
  (void)q;
  (void)m;
  return OK;
}
static R end_capture(void* q, void** g) {
  (void)q;
  *g = malloc(1);
  return OK;
}
static R record(void* event, void* q) {
  (void)q;
  *(double*)event = clock_us;
  return state();
}
static R elapsed(float* ms, void* a, void* b) {
  *ms = (float)((*(double*)b - *(double*)a) / 1000);
  return OK;
}
static R launch(const void* c, void* f, void** p, void** e) {
  (void)c;
  (void)p;
  (void)e;
  clock_us += kernels[(uintptr_t)f - 1].us;
  if (++num_launches == setting("STAND_IN_LOST_AT", 0)) lost = current;  // Once: reset does not start the count anew.
  return OK;
}
static R instantiate(void** x, void* g, unsigned long long f) {
  (void)g;
  (void)f;
  *x = malloc(1);
  return OK;
}
static R encode(void) { return OK; }

#ifndef STAND_IN_OLD
EXPORT R cuCtxEnablePeerAccess(void* peer, unsigned flags) {
  (void)flags;
  if (setting("STAND_IN_PEERS", 1) == 0) return NOT_SUPPORTED;
  if (*reaches(current, peer)) return ALREADY_ENABLED;
  *reaches(current, peer) = 1;
  return OK;
}
#endif

#ifdef STAND_IN_OLD
/* Drivers before CUDA 12 have no cuGetProcAddress_v2. */
EXPORT R cuDriverGetVersion(int* v) { return driver_version(v); }
#else
EXPORT R cuGetProcAddress_v2(const char* symbol, void** found, int version, uint64_t flags, int* status) {
  static const struct {
    const char* name;
    void* function;
  } table[] = {{"cuInit", (void*)init},
               {"cuDriverGetVersion", (void*)driver_version},
               {"cuDeviceGetCount", (void*)device_count},
               {"cuDeviceGet", (void*)device_get},
               {"cuDeviceGetName", (void*)device_name},
               {"cuDeviceGetAttribute", (void*)device_attribute},
               {"cuDeviceTotalMem", (void*)total_memory},
               {"cuGetErrorName", (void*)error_name},
               {"cuGetErrorString", (void*)error_text},
               {"cuDevicePrimaryCtxRetain", (void*)retain},
               {"cuDevicePrimaryCtxRelease", (void*)release},
               {"cuDevicePrimaryCtxReset", (void*)reset},
               {"cuCtxSetCurrent", (void*)set_current},
               {"cuModuleLoadDataEx", (void*)module_load},
               {"cuModuleUnload", (void*)module_unload},
               {"cuModuleGetFunction", (void*)module_function},
               {"cuModuleGetFunctionCount", (void*)function_count},
               {"cuModuleEnumerateFunctions", (void*)functions},
               {"cuFuncGetName", (void*)function_name},
               {"cuFuncSetAttribute", (void*)set_attribute},
               {"cuMemGetInfo", (void*)memory_info},
               {"cuMemAlloc", (void*)allocate},
               {"cuMemFree", (void*)release_memory},
               {"cuMemHostAlloc", (void*)host_allocate},
               {"cuMemFreeHost", (void*)host_free},
               {"cuMemcpyHtoDAsync", (void*)to_device},
               {"cuMemcpyDtoHAsync", (void*)to_host},
               {"cuMemcpyDtoDAsync", (void*)on_device},
               {"cuMemcpyPeerAsync", (void*)to_peer},
               {"cuMemsetD8Async", (void*)fill},
               {"cuStreamCreate", (void*)create},
               {"cuStreamDestroy", (void*)destroy},
               {"cuStreamSynchronize", (void*)one},
               {"cuStreamBeginCapture", (void*)begin_capture},
               {"cuStreamEndCapture", (void*)end_capture},
               {"cuEventCreate", (void*)create},
               {"cuEventDestroy", (void*)destroy},
               {"cuEventRecord", (void*)record},
               {"cuEventQuery", (void*)one},
               {"cuEventSynchronize", (void*)one},
               {"cuEventElapsedTime", (void*)elapsed},
               {"cuLaunchKernelEx", (void*)launch},
               {"cuGraphInstantiateWithFlags", (void*)instantiate},
               {"cuGraphLaunch", (void*)two},
               {"cuGraphDestroy", (void*)destroy},
               {"cuGraphExecDestroy", (void*)destroy},
               {"cuTensorMapEncodeTiled", (void*)encode}};
  const char* absent = getenv("STAND_IN_LACKS");
  (void)version;
  (void)flags;
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
    if (strcmp(symbol, table[i].name) != 0 || (absent != NULL && strcmp(symbol, absent) == 0)) continue;
    *found = table[i].function;
    *status = 0;
    return OK;
  }
  *found = NULL;
  *status = 1;
  return NOT_FOUND;
}
#endif
