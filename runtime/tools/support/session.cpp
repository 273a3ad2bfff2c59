#include "runtime/tools/support/session.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iomanip>
#include <vector>

#include "runtime/core/error.h"
#include "runtime/core/kernel.h"
#include "runtime/tools/support/inputs.h"
#include "runtime/tools/support/outputs.h"
#include "runtime/tools/support/profile.h"

namespace etlab {

namespace {

void print(std::ostream& out, const char* what, const std::vector<ValueInfo>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const ValueInfo& info = values[i];
    out << "  " << what << " " << i << ": ";
    if (info.kind == ValueKind::kTensor) {
      out << (info.is_dynamic ? "up to " : "") << name_of(info.type)
          << describe(Span<const int64_t>(info.sizes)) << (info.name.empty() ? "" : ", ")
          << info.name << "\n";
    } else {
      out << "no tensor\n";
    }
  }
}

void print(std::ostream& out, const MethodMeta& meta, bool with_instructions) {
  out << "method " << meta.name << ": " << meta.instructions.size() << " instructions, "
      << meta.operators.size() << " operators";
  for (const std::string& backend : meta.backends) out << ", backend " << backend;
  out << "\n";
  print(out, "input", meta.inputs);
  print(out, "output", meta.outputs);
  print(out, "state", meta.attributes);
  for (size_t i = 0; i < meta.arena_sizes.size(); ++i) {
    out << "  arena " << i + 1 << ": " << meta.arena_sizes[i] << " bytes\n";
  }
  for (size_t i = 0; with_instructions && i < meta.instructions.size(); ++i) {
    out << "  " << i << ": " << meta.instructions[i].kind << " " << meta.instructions[i].name << "\n";
  }
}

void print_times(std::ostream& out, std::vector<double> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto flags = out.flags();
  out << std::fixed << std::setprecision(3) << "  " << milliseconds.size() << " runs: best "
      << milliseconds.front() << " ms, median " << milliseconds[milliseconds.size() / 2] << " ms\n";
  out.flags(flags);
}

std::string method_name(const Program& program, const Request& request) {
  const std::vector<std::string>& names = program.method_names();
  if (request.method) return *request.method;
  return names.size() == 1 ? names.front() : "forward";  // not there: an error that lists the names
}

std::vector<std::unique_ptr<CallInputs>> inputs_of(const MethodMeta& meta, const Request& request) {
  std::vector<std::unique_ptr<CallInputs>> calls;
  if (!request.calls) {
    calls.push_back(std::make_unique<CallInputs>(meta, request.seed));
    return calls;
  }
  for (const std::vector<std::string>& words : *request.calls) {
    calls.push_back(std::make_unique<CallInputs>(meta, words));
  }
  return calls;
}

}  // namespace

Session::Loaded& Session::load(const Request& request) {
  std::string key = concat(request.map ? "map " : "read ", request.program);
  for (const std::string& path : request.data) key += "\n" + path;
  const auto found = programs_.find(key);
  if (found != programs_.end()) return found->second;
  std::vector<std::unique_ptr<const TensorFile>> external;
  for (const std::string& path : request.data) {
    external.push_back(TensorFile::load(read_file(path)));
  }
  auto source = request.map ? map_file(request.program) : read_file(request.program);
  Loaded loaded{Program::load(std::move(source), std::move(external)), {}};
  return programs_.emplace(key, std::move(loaded)).first->second;
}

Method& Session::method(Loaded& loaded, const std::string& name) {
  std::unique_ptr<Method>& method = loaded.methods[name];
  if (method == nullptr) method = Method::load(*loaded.program, name);
  return *method;
}

void Session::run(const Request& request, std::ostream* report) {
  if (request.threads > 0) ThreadPool::set_shared_thread_count(request.threads);
  Loaded& loaded = load(request);
  const MethodMeta meta = method_meta(*loaded.program, method_name(*loaded.program, request));
  if (report != nullptr) print(*report, meta, request.list);
  Method& method = this->method(loaded, meta.name);
  if (request.check_memory) method.check_memory();
  const auto calls = inputs_of(meta, request);
  Runs runs;
  const bool is_traced = request.profile || !request.etdump.empty();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ETLAB_CHECK(!is_stopped_, kInterrupted, "stopped before the run");
    running_ = &method;
  }
  struct Ended {
    Session& session;
    ~Ended() {
      const std::lock_guard<std::mutex> lock(session.mutex_);
      session.running_ = nullptr;
    }
  } ended{*this};

  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (size_t call = 0; call < calls.size(); ++call) {
    const std::filesystem::path folder = request.outputs;
    const std::string place = calls.size() == 1 ? request.outputs : (folder / concat(call)).string();
    for (int run = 0; run < request.runs; ++run) {
      std::unique_ptr<RunTrace> trace;
      if (is_traced) trace = std::make_unique<RunTrace>(method, false);
      RunOptions options;
      options.observer = trace.get();
      const auto begin = Clock::now();
      method.run(calls[call]->values(), options, [&](Span<const Value* const> outputs) {
        times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
        if (run > 0) return;
        if (!request.outputs.empty()) write_outputs(place, outputs);
        for (size_t i = 0; report != nullptr && i < outputs.size(); ++i) {
          *report << "  output " << i << ": " << outputs[i]->describe() << "\n";
        }
      });
      if (is_traced) runs.push_back(std::move(trace));
    }
  }
  if (report != nullptr) print_times(*report, times);
  if (!request.etdump.empty()) write_etdump(request.etdump, runs, meta, method);
  if (!request.profile) return;
  if (report != nullptr) print_table(*report, runs, meta);
  if (!request.outputs.empty()) {
    write_csv((std::filesystem::path(request.outputs) / "events.csv").string(), runs, meta);
  }
}

void Session::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_stopped_ = true;
  if (running_ != nullptr) running_->interrupt();
}

}  // namespace etlab
