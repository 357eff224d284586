// Checks and times the CUDA kernels through the same planners the product uses, on one GPU, without Node.
// gpu_bench IMAGE_DIR [--only TEXT]... [--no-check] [--no-bench] [--variants N] [--repeats N] [--sm VERSION] [--out FILE]
// IMAGE_DIR holds one cubin or PTX file per source. With --sm, planners see that architecture (for PTX of older ones).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "gpu_cases.h"

using namespace vd;
using namespace vd::harness;

namespace {

struct Options {
  std::string images, out;
  std::vector<std::string> only;
  bool check = true, bench = true;
  int variants = 99, repeats = 9, sm = 0;
};

Options parse(int argc, char** argv) {
  Options o;
  if (argc < 2) throw std::runtime_error("gpu_bench IMAGE_DIR [options]");
  o.images = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&] { if (++i >= argc) throw std::runtime_error(flag + " needs a value"); return std::string(argv[i]); };
    if (flag == "--only") o.only.push_back(value());
    else if (flag == "--no-check") o.check = false;
    else if (flag == "--no-bench") o.bench = false;
    else if (flag == "--variants") o.variants = std::atoi(value().c_str());
    else if (flag == "--repeats") o.repeats = std::atoi(value().c_str());
    else if (flag == "--sm") o.sm = std::atoi(value().c_str());
    else if (flag == "--out") o.out = value();
    else throw std::runtime_error("unknown option " + flag);
  }
  return o;
}

struct Difference {
  double relative = 0, worst = 0;
  uint64_t bad = 0;
};

Difference compare(Gpu& gpu, ReferenceParams p, const std::vector<double>& expected, void* scratch) {
  const int64_t n = p.samples;
  p.out = static_cast<double*>(scratch);
  gpu.launch("harness_gather", 1024, 256, &p, sizeof p);
  std::vector<double> got(n);
  gpu.read(got.data(), scratch, n * 8);
  Difference d;
  gpu.write(scratch, &d.bad, 8);
  gpu.launch("harness_count_bad", 1024, 256, &p, sizeof p);
  gpu.read(&d.bad, scratch, 8);
  double square = 0, reference = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double e = got[i] - expected[i];
    square += e * e;
    reference += expected[i] * expected[i];
    if (std::abs(e) > d.worst) d.worst = std::abs(e);
  }
  const double rms = std::sqrt(reference / n);
  d.relative = std::sqrt(square / (reference + 1e-30));
  d.worst /= rms + 1e-30;
  if (!(d.relative >= 0)) d.relative = 1e9;
  return d;
}

double tolerance(DType type) { return type == DType::f32 ? 2e-5 : type == DType::f16 ? 1.5e-3 : 1e-2; }

struct Totals {
  int rows = 0, failures = 0;
};

class Bench {
 public:
  Bench(Gpu& gpu, const Options& options, FILE* out) : gpu_(gpu), options_(options), out_(out) {}
  Totals totals;

  void run(const Case& c) {
    gpu_.reset();
    ReferenceParams p{};
    c.build(gpu_, p);
    const std::vector<cuda::Variant> plans = c.plan(p, gpu_.info);
    const bool big = c.bench;
    const int64_t count = p.y.count();
    p.samples = std::min<int64_t>(count, big ? 2048 : 200000);
    void* scratch = gpu_.allocate(p.samples * 8);
    std::vector<double> expected(p.samples);
    p.out = static_cast<double*>(scratch);
    gpu_.launch("reference_" + c.op, 1056, 256, &p, sizeof p);
    gpu_.read(expected.data(), scratch, p.samples * 8);
    if (plans.empty()) report(c, "none", {}, -1, false, "no plan");
    for (size_t i = 0; i < plans.size() && i < static_cast<size_t>(options_.variants); ++i) {
      if (big && i > 0 && plans[i].name.find("plain") != std::string::npos) continue;
      run_plan(c, p, plans[i], expected, scratch);
    }
  }

 private:
  void run_plan(const Case& c, const ReferenceParams& p, const cuda::Variant& plan, const std::vector<double>& expected, void* scratch) {
    try {
      BoundPlan bound = gpu_.bind(plan);
      gpu_.poison(p.y.data, p.y.pixels() * p.y.pitch * bytes_of(p.y.dtype));
      gpu_.run(bound);
      const Difference d = compare(gpu_, p, expected, scratch);
      const bool ok = d.bad == 0 && d.relative < tolerance(p.y.dtype);
      const double us = c.bench && ok ? gpu_.time(bound, options_.repeats) : -1;
      report(c, plan.name, d, us, ok, "");
    } catch (const std::exception& error) {
      report(c, plan.name, {}, -1, false, error.what());
      if (std::string(error.what()).rfind("no kernel", 0) != 0) throw;  // a failed launch leaves the context unusable
    }
  }

  void report(const Case& c, const std::string& variant, const Difference& d, double us, bool ok, const std::string& note) {
    ++totals.rows;
    if (!ok) ++totals.failures;
    const double tflops = us > 0 ? c.flops / us * 1e-6 : 0;
    if (!ok || us > 0)
      std::printf("%-4s %-17s %-30s %-24s rel %.2e worst %.1e bad %llu %9.1f us %6.1f TF/s %s\n", ok ? "ok" : "FAIL", c.op.c_str(),
                  c.name.c_str(), variant.c_str(), d.relative, d.worst, static_cast<unsigned long long>(d.bad), us, tflops, note.c_str());
    std::fflush(stdout);
    if (out_)
      std::fprintf(out_, "%s{\"op\":\"%s\",\"case\":\"%s\",\"variant\":\"%s\",\"ok\":%s,\"relative\":%.3e,\"worst\":%.3e,\"us\":%.2f,\"tflops\":%.1f}",
                   totals.rows > 1 ? ",\n" : "", c.op.c_str(), c.name.c_str(), variant.c_str(), ok ? "true" : "false", d.relative, d.worst, us, tflops);
  }

  Gpu& gpu_;
  const Options& options_;
  FILE* out_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    Gpu gpu(options.images, 40ull << 30);
    if (options.sm) {
      gpu.info.smVersion = options.sm;
      gpu.info.hasWgmma = options.sm == 90;
    }
    FILE* out = options.out.empty() ? nullptr : std::fopen(options.out.c_str(), "w");
    if (out) std::fprintf(out, "{\"device\":\"%s\",\"sm\":%d,\"rows\":[\n", gpu.name.c_str(), gpu.info.smVersion);
    Bench bench(gpu, options, out);
    for (const Case& c : all_cases()) {
      const std::string name = c.op + "." + c.name;
      const bool wanted = options.only.empty() || std::any_of(options.only.begin(), options.only.end(), [&](const std::string& text) {
        return name.find(text) != std::string::npos;
      });
      if (wanted && (c.bench ? options.bench : options.check)) bench.run(c);
    }
    if (out) {
      std::fprintf(out, "\n]}\n");
      std::fclose(out);
    }
    std::printf("%s: %d rows, %d failures\n", gpu.name.c_str(), bench.totals.rows, bench.totals.failures);
    return bench.totals.failures ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_bench: %s\n", error.what());
    return 2;
  }
}
