#include "compile_request.h"

#include <string_view>
#include <unordered_map>
#include <utility>

#include "../core/validate.h"
#include "arguments.h"
#include "buffer.h"

namespace vd::binding {
namespace {

std::vector<double> read_words(const Napi::Value& value) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_float64_array)
    wrong_type("compile program", "a Float64Array", value);
  const auto bytes = read_bytes(value, "compile program");
  const auto* words = reinterpret_cast<const double*>(bytes.data());
  return {words, words + bytes.size() / sizeof(double)};
}

JoinedTexts read_texts(const Napi::Value& value, const char* where) {
  const Napi::Object from = read_object(value, where);
  const Napi::Value text = from.Get("text");
  if (!text.IsString()) wrong_type(where, "a string", text);
  return {text.As<Napi::String>().Utf8Value(), read_size(from.Get("count"), where)};
}

std::vector<BufferBinding> read_buffers(const Napi::Value& value) {
  const Napi::Array array = read_array(value, "compile buffers");
  std::vector<BufferBinding> buffers;
  for (uint32_t i = 0; i < array.Length(); ++i) {
    const Napi::Object item = read_object(array.Get(i), "compile buffer");
    buffers.push_back({Buffer::memory_of(item.Get("buffer"), "compile buffer"), read_bool(item.Get("constant"), "compile constant")});
  }
  return buffers;
}

MemoryRange read_range(const Napi::Value& value, const char* where) {
  const Napi::Object from = read_object(value, where);
  return {Buffer::memory_of(from.Get("buffer"), where), read_size(from.Get("byteOffset"), where), read_size(from.Get("bytes"), where)};
}

/** What tells rows from others but for where their memory lies. */
std::string key_of_rows(const std::vector<double>& words, const std::vector<std::string>& names,
                        const std::vector<BufferBinding>& buffers) {
  std::string key(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(double));
  for (const std::string& name : names) key.append(name).push_back('\0');
  const auto append = [&key](const auto& value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); };
  std::unordered_map<const Memory*, size_t> firsts;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Memory& memory = *buffers[i].memory;
    append(firsts.emplace(&memory, i).first->second);
    append(memory.bytes());
    append(memory.on_host());
    append(buffers[i].constant);
  }
  return key;
}

/** Refuses a list that is there and has not one text for each row. */
void check_texts(const std::vector<std::string>& texts, const std::string& where, size_t num_rows) {
  if (texts.empty() || texts.size() == num_rows) return;
  throw Error(ErrorCode::attr, where, "one for each of " + std::to_string(num_rows) + " rows", std::to_string(texts.size()));
}

}  // namespace

std::vector<std::string> JoinedTexts::split(const char* where) const {
  std::vector<std::string> texts;
  if (text.empty() && count == 0) return texts;
  const std::string_view all = text;
  size_t begin = 0;
  for (size_t end; (end = all.find('\0', begin)) != all.npos; begin = end + 1) texts.emplace_back(all.substr(begin, end - begin));
  texts.emplace_back(all.substr(begin));
  if (texts.size() != count) throw Error(ErrorCode::attr, where, "a string without NUL", "one with NUL");
  return texts;
}

CompileRequest::CompileRequest(const Napi::CallbackInfo& info)
    : words_(read_words(info[0])), names_(read_texts(info[1], "compile names")), buffers_(read_buffers(info[2])) {
  if (!info[3].IsUndefined()) read_options(info[3]);
}

void CompileRequest::read_options(const Napi::Value& value) {
  const Napi::Object from = read_object(value, "compile options");
  options_.capture = read_bool(from.Get("capture"), "compile capture");
  const Napi::Value explain = from.Get("explain");
  if (!explain.IsUndefined()) options_.explain = read_bool(explain, "compile explain");
  const Napi::Value batchInvariant = from.Get("batchInvariant");
  if (!batchInvariant.IsUndefined()) options_.batchInvariant = read_bool(batchInvariant, "compile batchInvariant");
  const Napi::Value streamBytes = from.Get("streamBytes");
  if (!streamBytes.IsUndefined()) options_.streamBytes = read_size(streamBytes, "compile streamBytes");
  const Napi::Value goesFirst = from.Get("goesFirst");
  if (!goesFirst.IsUndefined()) options_.goesFirst = read_bool(goesFirst, "compile goesFirst");
  const Napi::Value space = from.Get("space");
  if (!space.IsUndefined()) options_.space = read_range(space, "compile space");
  const Napi::Value variants = from.Get("variants");
  if (!variants.IsUndefined()) variants_ = read_texts(variants, "compile variants");
  const Napi::Value insteadOf = from.Get("insteadOf");
  if (!insteadOf.IsUndefined()) insteadOf_ = read_texts(insteadOf, "compile insteadOf");
}

std::unique_ptr<Program> CompileRequest::compile(Device& device) && {
  // Let go of here: a megabyte takes its time, which the event loop need not wait for.
  CompileRequest request = std::move(*this);
  CompileOptions options = request.options_;
  const std::vector<std::string> names = request.names_.split("compile names");
  options.variants = request.variants_.split("compile variants");
  options.insteadOf = request.insteadOf_.split("compile insteadOf");
  options.rowsKey = key_of_rows(request.words_, names, request.buffers_);
  std::vector<Row> rows = decode_rows(request.words_, names, request.buffers_);
  check_texts(options.variants, "compile variants", rows.size());
  check_texts(options.insteadOf, "compile insteadOf", rows.size());
  return device.compile(std::move(rows), std::move(request.buffers_), options);
}

}  // namespace vd::binding
