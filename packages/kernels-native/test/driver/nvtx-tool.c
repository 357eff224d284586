/* Stands in for the library of a profiling tool: fills NVTX's slots and writes what it is told to a file.
   Source of the interface: NVIDIA/NVTX@v3.2.1 c/include/nvtx3/nvtxDetail/nvtxTypes.h */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void (*Slot)(void);
struct Callbacks {
  size_t structSize;
  int (*moduleTable)(int module, Slot*** table, unsigned* size);
};
struct Version {
  size_t structSize;
  uint32_t version, reserved;
  void (*setInjectionVersion)(uint32_t);
};

static uint64_t next = UINT64_C(1) << 60;

static void say(const char* what, const char* name, uint64_t id) {
  FILE* file = fopen(getenv("NVTX_TOOL_LOG"), "a");
  if (file == NULL) return;
  fprintf(file, "%s %s %llu\n", what, name, (unsigned long long)id);
  fclose(file);
}

static int push(const char* name) { return say("push", name, 0), 0; }
static int pop(void) { return say("pop", "-", 0), 0; }
static uint64_t start(const char* name) { return say("start", name, ++next), next; }
static void end(uint64_t id) { say("end", "-", id); }

#ifdef __cplusplus
extern "C"
#endif
    int InitializeInjectionNvtx2(const void* (*exportTable)(uint32_t)) {
  if (getenv("NVTX_TOOL_REFUSES") != NULL) return 0;
  const struct Callbacks* callbacks = (const struct Callbacks*)exportTable(1);
  const struct Version* version = (const struct Version*)exportTable(3);
  if (callbacks == NULL || version == NULL || exportTable(7) != NULL) return 0;
  if (callbacks->structSize != sizeof *callbacks || version->version != 3) return 0;
  version->setInjectionVersion(3);
  Slot** core;
  unsigned size;
  if (!callbacks->moduleTable(1, &core, &size) || size != 16 || core[0] != NULL || core[16] != NULL) return 0;
  if (callbacks->moduleTable(9, &core, &size)) return 0;
  callbacks->moduleTable(1, &core, &size);
  *core[5] = (Slot)start;
  *core[7] = (Slot)end;
  if (getenv("NVTX_TOOL_PARTIAL") == NULL) {
    *core[9] = (Slot)push;
    *core[11] = (Slot)pop;
  }
  return 1;
}
