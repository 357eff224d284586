// Work on libuv's worker threads that settles a promise.
#pragma once
#include <napi.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "wrap.h"

namespace vd::binding {

/** Runs `work` on a worker and turns its result into a value by `finish` on the event loop. Deletes itself. */
template <class Result> class PromiseWorker final : public Napi::AsyncWorker {
 public:
  using Work = std::function<Result()>;
  using Finish = std::function<Napi::Value(Napi::Env, Result&)>;

  static Napi::Promise start(Napi::Env env, Work work, Finish finish) {
    auto* worker = new PromiseWorker(env, std::move(work), std::move(finish));
    const Napi::Promise promise = worker->deferred_.Promise();
    worker->Queue();
    return promise;
  }

  void Execute() override {
    try {
      result_.emplace(work_());
    } catch (const Error& error) {
      error_ = error;
    } catch (const std::bad_alloc&) {
      error_ = Error(ErrorCode::memory, "addon", "enough free memory", "a failed allocation");
    } catch (const std::exception& error) {
      error_ = Error(ErrorCode::internal, "addon", "no failure", error.what());
    }
  }

  void OnOK() override {
    const Napi::HandleScope scope(Env());
    try {
      try {
        if (!error_) return deferred_.Resolve(finish_(Env(), *result_));
      } catch (const Error& error) {
        error_ = error;
      }
      deferred_.Reject(to_js(Env(), *error_).Value());
    } catch (const Napi::Error&) {
      // JavaScript can no longer run, e.g. in a worker thread that is being stopped: nobody waits for the promise.
    }
  }

 private:
  PromiseWorker(Napi::Env env, Work work, Finish finish)
      : AsyncWorker(env), deferred_(env), work_(std::move(work)), finish_(std::move(finish)) {}

  Napi::Promise::Deferred deferred_;
  Work work_;
  Finish finish_;
  std::optional<Result> result_;
  std::optional<Error> error_;
};

}  // namespace vd::binding
