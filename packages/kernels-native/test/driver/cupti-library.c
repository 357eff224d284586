/* Stands in for CUPTI: hands out one buffer of kernel records per flush.
   Source of the interface: cupti_activity.h of CUDA 13.0, CUpti_ActivityKernel10. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_BYTES = 216, KIND_KERNEL = 10, KIND_MEMCPY = 1, KIND_MARKER = 12, MAX_LIMIT_REACHED = 12 };
typedef void (*Request)(uint8_t** buffer, size_t* bytes, size_t* maxRecords);
typedef void (*Complete)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t validBytes);

static Request request;
static Complete complete;
static int enabled, markers;

#ifdef __cplusplus
extern "C" {
#endif

int cuptiActivityRegisterCallbacks(Request a, Complete b) {
  request = a;
  complete = b;
  return 0;
}
int cuptiActivityEnable(int kind) {
  if (getenv("CUPTI_REFUSES") != NULL) return 35;
  if (kind == KIND_KERNEL) enabled = 1;
  if (kind == KIND_MARKER) markers = 1;
  return kind == KIND_KERNEL || kind == KIND_MARKER ? 0 : 1;
}
int cuptiActivityDisable(int kind) {
  if (kind == KIND_KERNEL) enabled = 0;
  if (kind == KIND_MARKER) markers = 0;
  return kind == KIND_KERNEL || kind == KIND_MARKER ? 0 : 1;
}
int cuptiGetResultString(int result, const char** text) {
  *text = result == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
  return 0;
}

static void write_record(uint8_t* at, uint32_t kind, uint64_t start, uint64_t end, const char* name) {
  memset(at, 0xee, RECORD_BYTES);
  memcpy(at, &kind, sizeof kind);
  memcpy(at + 16, &start, sizeof start);
  memcpy(at + 24, &end, sizeof end);
  memcpy(at + 104, &name, sizeof name);
}

/* Flags: 2 begins a range, 4 ends it. */
static void write_marker(uint8_t* at, uint32_t flags) {
  const uint32_t kind = KIND_MARKER;
  memset(at, 0xee, RECORD_BYTES);
  memcpy(at, &kind, sizeof kind);
  memcpy(at + 4, &flags, sizeof flags);
}

int cuptiActivityFlushAll(uint32_t flag) {
  uint8_t* buffer;
  size_t bytes, maxRecords;
  if (!enabled || flag != 0) return 1;
  request(&buffer, &bytes, &maxRecords);
  if (bytes < 6 * RECORD_BYTES || maxRecords != 0) return 1;
  write_record(buffer, KIND_KERNEL, 1000, 3500, "conv_f16");
  write_record(buffer + RECORD_BYTES, KIND_KERNEL, 4000, 14000, "linear_f16");
  write_record(buffer + 2 * RECORD_BYTES, KIND_MEMCPY, 0, 999999, "no kernel");
  write_record(buffer + 3 * RECORD_BYTES, KIND_KERNEL, 20000, 21000, "conv_f16");
  if (markers) {
    write_marker(buffer + 4 * RECORD_BYTES, 2);
    write_marker(buffer + 5 * RECORD_BYTES, 4);
  }
  complete(NULL, 0, buffer, bytes, (markers ? 6 : 4) * RECORD_BYTES);
  return 0;
}

int cuptiActivityGetNextRecord(uint8_t* buffer, size_t validBytes, void** record) {
  uint8_t* next = *record == NULL ? buffer : (uint8_t*)*record + RECORD_BYTES;
  if (next >= buffer + validBytes) return MAX_LIMIT_REACHED;
  *record = next;
  return 0;
}

#ifdef __cplusplus
}
#endif
