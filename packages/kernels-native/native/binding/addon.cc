// The module's entry: what src/addon-types.ts describes.
#include <napi.h>

#include "../core/op_table.h"
#include "../core/touch_pages.h"
#include "../cpu/cpu_features.h"
#include "../cpu/float_kernels.h"
#include "../driver/cupti.h"
#include "../driver/device.h"
#include "../driver/nvtx.h"
#include "addon_data.h"
#include "arguments.h"
#include "async.h"
#include "buffer.h"
#include "device.h"
#include "external.h"
#include "janitor.h"
#include "normals.h"
#include "pictures.h"
#include "wrap.h"

namespace vd::binding {
namespace {

Napi::Value allocate_buffer(const Napi::CallbackInfo& info) {
  return Buffer::make(info.Env(), allocate_host(read_size(info[0], "allocateBuffer bytes")));
}

Napi::Value map_file_to_buffer(const Napi::CallbackInfo& info) {
  return Buffer::make(info.Env(), map_file(read_string(info[0], "mapFile path")));
}

Napi::Value open_device(const Napi::CallbackInfo& info) {
  return info.Env().GetInstanceData<AddonData>()->device.New({read_object(info[0], "openDevice options")});
}

Napi::Value cpu_isa(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), cpu::isa_name(cpu::best_isa())); }

Napi::Value cpu_math(const Napi::CallbackInfo& info) {
  const cpu::Math math = cpu::math_of(read_isa(info[0], "openDevice isa"), read_math(info[1], "openDevice math"));
  return Napi::String::New(info.Env(), cpu::math_name(math));
}

/** `{reason, devices}`: why there is no GPU at all, or what each is. */
Napi::Value gpu_list_to_js(Napi::Env env, const std::vector<driver::DeviceProperties>& devices) {
  Napi::Array list = Napi::Array::New(env, devices.size());
  for (uint32_t i = 0; i < devices.size(); ++i) {
    const driver::DeviceProperties& from = devices[i];
    Napi::Object to = Napi::Object::New(env);
    to.Set("index", from.index);
    to.Set("name", from.name);
    to.Set("computeCapability", std::to_string(from.major) + "." + std::to_string(from.minor));
    to.Set("memoryBytes", static_cast<double>(from.totalBytes));
    to.Set("usable", from.usable);
    to.Set("reason", from.reason);
    to.Set("image", from.image.name);
    list.Set(i, to);
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("reason", driver::driver().reason);
  result.Set("driverVersion", driver::version_text(driver::driver().version));
  result.Set("devices", list);
  return result;
}

Napi::Value list_gpus(const Napi::CallbackInfo& info) {
  return gpu_list_to_js(info.Env(), driver::list_devices(read_string(info[0], "listGpus imageDir")));
}

/** Starts the driver off the event loop, so that listGpus answers at once afterwards. */
Napi::Value start_driver(const Napi::CallbackInfo& info) {
  return PromiseWorker<bool>::start(
      info.Env(), [] { return driver::driver().usable; }, [](Napi::Env env, bool& usable) { return Napi::Boolean::New(env, usable); });
}

/** Lets a tool of NVIDIA's attach itself by its library; the reason if it does not. */
Napi::Value start_nvtx(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), driver::nvtx::start(read_string(info[0], "startNvtx path")));
}

Napi::Value start_nvtx_range(const Napi::CallbackInfo& info) {
  return Napi::BigInt::New(info.Env(), driver::nvtx::range_start(read_string(info[0], "startNvtxRange name").c_str()));
}

Napi::Value end_nvtx_range(const Napi::CallbackInfo& info) {
  driver::nvtx::range_end(read_bigint(info[0], "endNvtxRange id"));
  return info.Env().Undefined();
}

/** Begins to record kernels; why not, or an empty text. */
Napi::Value start_cupti(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), driver::cupti::start(read_strings(info[0], "startCupti libraries")));
}

Napi::Value stop_cupti(const Napi::CallbackInfo& info) {
  driver::cupti::stop();
  return info.Env().Undefined();
}

Napi::Value take_kernels(const Napi::CallbackInfo& info) {
  const std::vector<driver::cupti::KernelSum> sums = driver::cupti::take();
  Napi::Array list = Napi::Array::New(info.Env(), sums.size());
  for (uint32_t i = 0; i < sums.size(); ++i) {
    Napi::Object to = Napi::Object::New(info.Env());
    to.Set("name", sums[i].name);
    to.Set("count", static_cast<double>(sums[i].count));
    to.Set("totalUs", static_cast<double>(sums[i].totalNs) / 1000);
    list.Set(i, to);
  }
  return list;
}

Napi::Value take_ranges(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(driver::cupti::take_ranges()));
}

/** Elements of a typed array at most. */
constexpr double kMostElements = 4294967295;

Napi::Value allocate_floats(const Napi::CallbackInfo& info) {
  auto pages = std::make_shared<Pages>(read_size(info[0], "allocateFloats count", kMostElements) * sizeof(float));
  return floats_to_fill(info.Env(), pages);
}

/** Has the system give the memory of an array of `allocate_floats`; of others it has done that, or does at their first touch. */
Napi::Value touch_floats(const Napi::CallbackInfo& info) {
  if (!is_float32_array(info[0])) wrong_type("touchFloats values", "a Float32Array", info[0]);
  const auto bytes = read_bytes(info[0], "touchFloats values");
  auto work = [bytes, pages = pages_of(info[0].As<Napi::TypedArray>())] {
    if (pages) touch_pages(bytes.data(), bytes.size());
    return true;
  };
  return PromiseWorker<bool>::start(info.Env(), std::move(work), [](Napi::Env env, bool&) { return env.Undefined(); });
}

/** The largest magnitude of a Float32Array, or NaN where it holds one. */
Napi::Value largest_magnitude(const Napi::CallbackInfo& info) {
  if (!is_float32_array(info[0])) wrong_type("largestMagnitude values", "a Float32Array", info[0]);
  const auto bytes = read_bytes(info[0], "largestMagnitude values");
  const auto& kernels = cpu::float_kernels_of(cpu::best_isa());
  const auto count = static_cast<int64_t>(bytes.size() / sizeof(float));
  return Napi::Number::New(info.Env(), kernels.largest(reinterpret_cast<const float*>(bytes.data()), count));
}

Napi::Value op_ids(const Napi::CallbackInfo& info) {
  Napi::Array ids = Napi::Array::New(info.Env(), kNumOps);
  for (int i = 0; i < kNumOps; ++i) ids.Set(static_cast<uint32_t>(i), kOps[i]->id);
  return ids;
}

template <Method kBody> void export_function(Napi::Object exports, const char* name) {
  napi_value function = nullptr;
  napi_create_function(exports.Env(), name, NAPI_AUTO_LENGTH, entry<kBody>, nullptr, &function);
  exports.Set(name, Napi::Value(exports.Env(), function));
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  auto* data = new AddonData();
  data->janitor = std::make_shared<Janitor>();
  data->buffer = Napi::Persistent(Buffer::define(env));
  data->device = Napi::Persistent(DeviceObject::define(env));
  data->program = Napi::Persistent(ProgramObject::define(env));
  env.SetInstanceData(data);
  export_function<allocate_buffer>(exports, "allocateBuffer");
  export_function<map_file_to_buffer>(exports, "mapFile");
  export_function<open_device>(exports, "openDevice");
  export_function<mersenne_draws>(exports, "mersenneDraws");
  export_function<fill_normals>(exports, "fillNormals");
  export_function<resize_picture>(exports, "resizePicture");
  export_function<resample_picture>(exports, "resamplePicture");
  export_function<picture_to_planes>(exports, "pictureToPlanes");
  export_function<cpu_isa>(exports, "cpuIsa");
  export_function<cpu_math>(exports, "cpuMath");
  export_function<allocate_floats>(exports, "allocateFloats");
  export_function<touch_floats>(exports, "touchFloats");
  export_function<largest_magnitude>(exports, "largestMagnitude");
  export_function<op_ids>(exports, "opIds");
  export_function<list_gpus>(exports, "listGpus");
  export_function<start_driver>(exports, "startDriver");
  export_function<start_cupti>(exports, "startCupti");
  export_function<stop_cupti>(exports, "stopCupti");
  export_function<take_kernels>(exports, "takeKernels");
  export_function<take_ranges>(exports, "takeRanges");
  export_function<start_nvtx>(exports, "startNvtx");
  export_function<start_nvtx_range>(exports, "startNvtxRange");
  export_function<end_nvtx_range>(exports, "endNvtxRange");
  return exports;
}

NODE_API_MODULE(vd_native, initialise)

}  // namespace
}  // namespace vd::binding
