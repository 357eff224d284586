// A stand-in for the NVIDIA driver: device memory is host memory, kernels do nothing. What goes wrong is chosen by
// environment variables, so that the loader and its errors can be tested where there is no GPU.
// With STAND_IN_ORDER streams run late: what is queued waits until somebody asks for it, and of streams that could go on the first made
// ("first") or the last made ("last") goes as far as it can. Kernels that copy then do, and graphs hold what was captured.
// With STAND_IN_KERNELS, the path of a library that tooling/emulator built, kernels run: streams are late then.
#ifndef _WIN32
#include <dlfcn.h>
#endif
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
enum {
  OK = 0,
  OUT_OF_MEMORY = 2,
  NO_DEVICE = 100,
  NOT_FOUND = 500,
  UNJOINED = 904,
  ILLEGAL_ADDRESS = 700,
  ALREADY_ENABLED = 704,
  NOT_SUPPORTED = 801
};

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
  *v = which == 75   ? setting("STAND_IN_MAJOR", 9)
       : which == 76 ? setting("STAND_IN_MINOR", 0)
       : which == 16 ? setting("STAND_IN_SMS", 4)
       : which == 97 ? 232448
                     : 1 << 20;
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
/* Modules of PTX text have numbers, others are their images. Notes in a file which of the former are loaded and let go. */
static uintptr_t num_texts;
enum { MOST_TEXTS = 4096 };
static void note_text(const char* what) {
  const char* path = getenv("STAND_IN_TEXT_LOG");
  FILE* log = path != NULL ? fopen(path, "a") : NULL;
  if (log == NULL) return;
  fprintf(log, "%s\n", what);
  fclose(log);
}
static R module_load(void** m, const void* image, unsigned n, int* o, void** v) {
  *m = (void*)image;
  if (strncmp((const char*)image, ".version", 8) != 0) return setting("STAND_IN_MODULE", OK);
  *m = (void*)++num_texts;
  note_text("load");
  if (setting("STAND_IN_TEXT", OK) != OK && n == 2 && o[0] == 5) strcpy((char*)v[0], "ptxas fatal: the stand-in's words");
  return setting("STAND_IN_TEXT", OK);
}
static R module_unload(void* m) {
  if ((uintptr_t)m <= MOST_TEXTS) note_text("unload");
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
               {"linear_plain_f16", 100},
               {"conv_pack", 10},
               {"winograd_filters", 10},
               {"winograd_input_f16", 50},
               {"winograd_output_f16", 50},
               {"conv_sm90_f16_m128n128pp", 100},
               {"elementwise_f32_program", 60},
               {"elementwise_f32_compiled1", 20}};
static double clock_us;

/* ---- Kernels that run: the functions of the library that STAND_IN_KERNELS names. */
static struct {
  int is_open;
  unsigned (*count)(void);
  const char* (*name)(unsigned index);
  size_t (*params_bytes)(unsigned index);
  R (*run)(unsigned index, const void* config, const void* params);
  R (*encode)(void*, int, unsigned, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, int, int, int, int);
} emulator;
static int emulates(void) {
#ifndef _WIN32
  const char* path = getenv("STAND_IN_KERNELS");
  if (path == NULL || emulator.is_open) return path != NULL;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    abort();
  }
  *(void**)&emulator.count = dlsym(library, "emulator_count");
  *(void**)&emulator.name = dlsym(library, "emulator_name");
  *(void**)&emulator.params_bytes = dlsym(library, "emulator_params_bytes");
  *(void**)&emulator.run = dlsym(library, "emulator_run");
  *(void**)&emulator.encode = dlsym(library, "emulator_encode");
  emulator.is_open = 1;
  return 1;
#else
  return 0;
#endif
}
/* ---- */

static const char* kernel_name(uintptr_t i) { return emulates() ? emulator.name((unsigned)i) : kernels[i].name; }
static unsigned num_kernels(void) { return emulates() ? emulator.count() : sizeof kernels / sizeof *kernels; }
static R module_function(void** f, void* m, const char* symbol) {
  (void)m;
  for (uintptr_t i = 0; i < num_kernels(); ++i) {
    if (strcmp(kernel_name(i), symbol) != 0) continue;
    *f = (void*)(i + 1);
    return OK;
  }
  return NOT_FOUND;
}
static R function_count(unsigned* n, void* m) {
  (void)m;
  *n = num_kernels();
  return OK;
}
static R functions(void** f, unsigned n, void* m) {
  (void)m;
  for (unsigned i = 0; i < n; ++i) f[i] = (void*)(uintptr_t)(i + 1);
  return OK;
}
static R function_name(const char** s, void* f) {
  *s = kernel_name((uintptr_t)f - 1);
  return OK;
}
static R set_attribute(void* f, int a, int v) {
  (void)f;
  (void)a;
  (void)v;
  return OK;
}
/* ---- Streams that run late. */
typedef struct {
  double us;
  long recorded, reached; /* How often it was recorded, and reached. */
  int captured;
} Event;
typedef struct Stream Stream;
enum { COPY, FILL, LAUNCH, RECORD, WAIT };
typedef struct {
  int kind, value;
  void* target;
  const void* source;
  size_t bytes;
  void* function;
  Event* event;
  long ticket; /* Of a wait: how often the event must have been reached. */
  char params[64];
  char* launch; /* Of a kernel that runs: its configuration, attributes and parameters. */
  Stream* stream;
} Op;
typedef struct {
  Op* ops;
  size_t count, done, room;
} Ops;
struct Stream {
  Ops queue;
  int capturing;
};
static Stream* streams[512];
static int num_streams;
static Ops* graph;
static Stream* origin;
/* Several threads call the driver. */
static int is_locked;
static THREAD_LOCAL int depth;
static void lock(void) {
  if (depth++ == 0)
    while (__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE)) {
    }
}
static R unlock(R result) {
  if (--depth == 0) __atomic_store_n(&is_locked, 0, __ATOMIC_RELEASE);
  return result;
}
static int late(void) { return getenv("STAND_IN_ORDER") != NULL || getenv("STAND_IN_KERNELS") != NULL; }

static void append(Ops* list, const Op* op) {
  if (list->count == list->room) list->ops = (Op*)realloc(list->ops, (list->room = 2 * list->room + 16) * sizeof(Op));
  list->ops[list->count++] = *op;
}
/* What the copying kernels take: see ops/copy/copy_params.h. */
typedef struct {
  const char* x;
  char* y;
  int64_t pixels, x_pitch, y_pitch;
  int32_t channels, x_type, y_type;
} CopyParams;
static void copy_pixels(const CopyParams* p) {
  for (int64_t i = 0; i < p->pixels; ++i) memcpy(p->y + 4 * i * p->y_pitch, p->x + 4 * i * p->x_pitch, 4 * (size_t)p->channels);
}
/* Of CUlaunchConfig and CUlaunchAttribute. */
enum { CONFIG_BYTES = 56, ATTRIBUTES_AT = 40, COUNT_AT = 48, ATTRIBUTE_BYTES = 72 };
static size_t attribute_bytes(const void* config) { return *(const unsigned*)((const char*)config + COUNT_AT) * (size_t)ATTRIBUTE_BYTES; }
static void hold_launch(Op* op, const void* config, const void* params) {
  const size_t bytes = emulator.params_bytes((unsigned)((uintptr_t)op->function - 1));
  op->launch = (char*)malloc(CONFIG_BYTES + attribute_bytes(config) + bytes);
  memcpy(op->launch, config, CONFIG_BYTES);
  memcpy(op->launch + CONFIG_BYTES, *(void* const*)((const char*)config + ATTRIBUTES_AT), attribute_bytes(config));
  *(void**)(op->launch + ATTRIBUTES_AT) = op->launch + CONFIG_BYTES;
  memcpy(op->launch + CONFIG_BYTES + attribute_bytes(config), params, bytes);
}
static void run_held(const Op* op) {
  const char* params = op->launch + CONFIG_BYTES + attribute_bytes(op->launch);
  if (emulator.run((unsigned)((uintptr_t)op->function - 1), op->launch, params) != OK) lost = current;
}
static void execute(Op* op) {
  switch (op->kind) {
    case COPY: memcpy(op->target, op->source, op->bytes); break;
    case FILL: memset(op->target, op->value, op->bytes); break;
    case LAUNCH:
      if (op->launch != NULL) {
        run_held(op);
        break;
      }
      clock_us += kernels[(uintptr_t)op->function - 1].us;
      if (strncmp(kernels[(uintptr_t)op->function - 1].name, "copy_", 5) == 0) copy_pixels((CopyParams*)op->params);
      break;
    case RECORD:
      op->event->us = clock_us;
      ++op->event->reached;
      break;
  }
}
/* Runs queued work until an event has been reached, or all of it without one. */
static void drain(const Event* until) {
  const char* order = getenv("STAND_IN_ORDER");
  const int last_first = order != NULL && strcmp(order, "last") == 0;
  lock();
  while (until == NULL || until->reached < until->recorded) {
    int went = 0;
    for (int i = 0; i < num_streams && !went; ++i) {
      Ops* queue = &streams[last_first ? num_streams - 1 - i : i]->queue;
      if (queue->done == queue->count) continue;
      Op* op = &queue->ops[queue->done];
      if (op->kind == WAIT && op->event->reached < op->ticket) continue;
      execute(op);
      ++queue->done;
      went = 1;
    }
    if (!went) break;
  }
  unlock(OK);
}
static R enqueue(void* q, Op op) {
  Stream* stream = (Stream*)q;
  op.stream = stream;
  lock();
  if (graph != NULL && op.kind == WAIT && op.event->captured) stream->capturing = 1;
  if (graph != NULL && stream->capturing) {
    if (op.kind == RECORD) op.event->captured = 1;
    append(graph, &op);
    return unlock(state());
  }
  if (op.kind == RECORD) ++op.event->recorded;
  if (op.kind == WAIT) op.ticket = op.event->recorded;
  append(&stream->queue, &op);
  return unlock(state());
}
static R queue_copy(void* q, void* target, const void* source, size_t n) {
  Op op = {COPY};
  op.target = target;
  op.source = source;
  op.bytes = n;
  return enqueue(q, op);
}
static R create_stream(void** h, unsigned f, int priority) {
  (void)f;
  (void)priority;
  *h = calloc(1, sizeof(Stream));
  lock();
  streams[num_streams++] = (Stream*)*h;
  return unlock(state());
}
static R destroy_stream(void* h) {
  Stream* stream = (Stream*)h;
  if (h == NULL) return NOT_FOUND;
  if (late()) drain(NULL);
  lock();
  for (int i = 0; i < num_streams; ++i) {
    if (streams[i] != stream) continue;
    /* The others keep their order. */
    memmove(streams + i, streams + i + 1, (size_t)(--num_streams - i) * sizeof *streams);
    free(stream->queue.ops);
    free(stream);
    break;
  }
  return unlock(OK);
}
static R create_event(void** h, unsigned f) {
  (void)f;
  *h = calloc(1, sizeof(Event));
  return state();
}
static R wait_event(void* q, void* event, unsigned f) {
  Op op = {WAIT};
  (void)f;
  op.event = (Event*)event;
  return late() ? enqueue(q, op) : state();
}
static R query_event(void* event) {
  if (late()) drain((Event*)event);
  return state();
}
/* A stream that joined a capture must be waited for by the one that began it. */
static R check_joined(void) {
  for (int i = 0; i < num_streams; ++i) {
    const Op* last = NULL;
    int joined = 0;
    streams[i]->capturing = 0;
    for (size_t k = 0; k < graph->count; ++k) {
      const Op* op = &graph->ops[k];
      if (op->stream == streams[i]) last = op, joined = 0;
      if (last != NULL && last->kind == RECORD && op->kind == WAIT && op->stream == origin && op->event == last->event) joined = 1;
    }
    if (last != NULL && streams[i] != origin && !joined) return UNJOINED;
  }
  return OK;
}
/* ---- */

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
  /* NaN in every type of float: nobody is to read what was not written. */
  if (emulates()) memset(block + 1, 0xFF, n + 256 - sizeof *block);
  *p = (uint64_t)(uintptr_t)block + 256;
  return OK;
}
static R release_memory(uint64_t p) {
  if (late()) drain(NULL);
  int64_t* block = (int64_t*)(uintptr_t)(p - 256);
  used_bytes -= block[0];
  free(block);
  return OK;
}
/* Page-locked memory: notes in a file what is taken and given back, and refuses what goes beyond a limit. */
static int64_t host_bytes;
static void note_host(int64_t n) {
  const char* path = getenv("STAND_IN_HOST_LOG");
  FILE* log = path != NULL ? fopen(path, "a") : NULL;
  host_bytes += n;
  if (log == NULL) return;
  fprintf(log, "%lld\n", (long long)n);
  fclose(log);
}
static R host_allocate(void** p, size_t n, unsigned f) {
  (void)f;
  const int64_t limit = (int64_t)setting("STAND_IN_HOST_KIBIBYTES", 0) << 10;
  if (limit > 0 && host_bytes + (int64_t)n > limit) return OUT_OF_MEMORY;
  int64_t* block = (int64_t*)aligned_alloc(256, (n + 511) / 256 * 256);
  block[0] = (int64_t)n;
  note_host((int64_t)n);
  *p = (char*)block + 256;
  return OK;
}
static R host_free(void* p) {
  if (late()) drain(NULL);
  int64_t* block = (int64_t*)((char*)p - 256);
  note_host(-block[0]);
  free(block);
  return OK;
}
/* Memory that is page-locked where it lies: refused with the driver's answer STAND_IN_REGISTER, else noted in a file of its own. */
static void note_registered(int64_t n) {
  const char* path = getenv("STAND_IN_REGISTER_LOG");
  FILE* log = path != NULL ? fopen(path, "a") : NULL;
  if (log == NULL) return;
  fprintf(log, "%lld\n", (long long)n);
  fclose(log);
}
static struct {
  void* p;
  size_t n;
} registered[64];
static R host_register(void* p, size_t n, unsigned f) {
  if (f != 1) return NOT_SUPPORTED; /* Portable. */
  if (state() != OK) return state();
  if (setting("STAND_IN_REGISTER", OK) != OK) return setting("STAND_IN_REGISTER", OK);
  for (int i = 0; i < 64; ++i) {
    if (registered[i].p != NULL) continue;
    registered[i].p = p;
    registered[i].n = n;
    note_registered((int64_t)n);
    return OK;
  }
  return OUT_OF_MEMORY;
}
static R host_unregister(void* p) {
  if (late()) drain(NULL);
  for (int i = 0; i < 64; ++i) {
    if (registered[i].p != p) continue;
    note_registered(-(int64_t)registered[i].n);
    registered[i].p = NULL;
    return state();
  }
  return NOT_FOUND;
}
static R to_device(uint64_t d, const void* s, size_t n, void* q) {
  if (late()) return queue_copy(q, (void*)(uintptr_t)d, s, n);
  memcpy((void*)(uintptr_t)d, s, n);
  return state();
}
static R to_host(void* d, uint64_t s, size_t n, void* q) {
  if (late()) return queue_copy(q, d, (void*)(uintptr_t)s, n);
  memcpy(d, (void*)(uintptr_t)s, n);
  return state();
}
/* Notes in a file how many bytes each copy from the host has. */
static R from_host(uint64_t d, const void* s, size_t n, void* q) {
  const char* path = getenv("STAND_IN_UPLOAD_LOG");
  FILE* log = path != NULL ? fopen(path, "a") : NULL;
  if (log != NULL) {
    fprintf(log, "%lld\n", (long long)n);
    fclose(log);
  }
  return to_device(d, s, n, q);
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
  Op op = {FILL};
  op.target = (void*)(uintptr_t)d;
  op.value = v;
  op.bytes = n;
  if (late()) return enqueue(q, op);
  memset((void*)(uintptr_t)d, v, n);
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
static R count_clusters(int* count, void* function, const void* config) {
  (void)function;
  (void)config;
  *count = 16;
  return state();
}
/* Notes in a file what is recorded, and what of it is launched. */
static void note_graph(const char* what) {
  const char* path = getenv("STAND_IN_GRAPH_LOG");
  FILE* log = path != NULL ? fopen(path, "a") : NULL;
  if (log == NULL) return;
  fprintf(log, "%s\n", what);
  fclose(log);
}
static R graph_upload(void* g, void* q) {
  (void)g;
  (void)q;
  return state();
}
static R graph_launch(void* g, void* q) {
  Ops* captured = (Ops*)g;
  (void)q;
  note_graph("launched");
  for (size_t i = 0; late() && i < captured->count; ++i) enqueue(captured->ops[i].stream, captured->ops[i]);
  return state();
}
static R begin_capture(void* q, int m) {
  (void)m;
  note_graph("recorded");
  if (!late()) return OK;
  graph = (Ops*)calloc(1, sizeof(Ops));
  origin = (Stream*)q;
  origin->capturing = 1;
  return OK;
}
static R end_capture(void* q, void** g) {
  (void)q;
  if (!late()) {
    *g = malloc(1);
    return OK;
  }
  const R joined = check_joined();
  *g = graph;
  graph = NULL;
  return joined;
}
static R record(void* event, void* q) {
  Op op = {RECORD};
  op.event = (Event*)event;
  if (late()) return enqueue(q, op);
  ((Event*)event)->us = clock_us;
  return state();
}
static R elapsed(float* ms, void* a, void* b) {
  *ms = (float)((((Event*)b)->us - ((Event*)a)->us) / 1000);
  return OK;
}
static R launch(const void* c, void* f, void** p, void** e) {
  (void)e;
  if (++num_launches == setting("STAND_IN_LOST_AT", 0)) lost = current;  // Once: reset does not start the count anew.
  if (!late()) {
    clock_us += kernels[(uintptr_t)f - 1].us;
    return OK;
  }
  Op op = {LAUNCH};
  op.function = f;
  if (emulates()) {
    hold_launch(&op, c, p[0]);
  } else if (strncmp(kernels[(uintptr_t)f - 1].name, "copy_", 5) == 0) {
    memcpy(op.params, p[0], sizeof(CopyParams));
  }
  return enqueue(*(void**)((const char*)c + 32), op);  // CUlaunchConfig: six sizes and shared memory before the stream.
}
static R instantiate(void** x, void* g, unsigned long long f) {
  (void)f;
  *x = late() ? g : malloc(1);
  return setting("STAND_IN_INSTANTIATE", OK);
}
static R destroy_graph(void* g) {
  if (!late()) free(g);
  return OK;
}
static R encode(void* map, int type, unsigned rank, void* base, const uint64_t* dims, const uint64_t* strides, const uint32_t* box,
                const uint32_t* steps, int interleave, int swizzle, int promotion, int fill) {
  if (!emulates()) return OK;
  return emulator.encode(map, type, rank, base, dims, strides, box, steps, interleave, swizzle, promotion, fill);
}

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
               {"cuMemHostRegister", (void*)host_register},
               {"cuMemHostUnregister", (void*)host_unregister},
               {"cuMemcpyHtoDAsync", (void*)from_host},
               {"cuMemcpyDtoHAsync", (void*)to_host},
               {"cuMemcpyDtoDAsync", (void*)on_device},
               {"cuMemcpyPeerAsync", (void*)to_peer},
               {"cuMemsetD8Async", (void*)fill},
               {"cuStreamCreateWithPriority", (void*)create_stream},
               {"cuStreamDestroy", (void*)destroy_stream},
               {"cuStreamSynchronize", (void*)one},
               {"cuStreamWaitEvent", (void*)wait_event},
               {"cuStreamBeginCapture", (void*)begin_capture},
               {"cuStreamEndCapture", (void*)end_capture},
               {"cuEventCreate", (void*)create_event},
               {"cuEventDestroy", (void*)destroy},
               {"cuEventRecord", (void*)record},
               {"cuEventQuery", (void*)query_event},
               {"cuEventSynchronize", (void*)query_event},
               {"cuEventElapsedTime", (void*)elapsed},
               {"cuLaunchKernelEx", (void*)launch},
               {"cuOccupancyMaxActiveClusters", (void*)count_clusters},
               {"cuGraphInstantiateWithFlags", (void*)instantiate},
               {"cuGraphUpload", (void*)graph_upload},
               {"cuGraphLaunch", (void*)graph_launch},
               {"cuGraphDestroy", (void*)destroy_graph},
               {"cuGraphExecDestroy", (void*)destroy_graph},
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
