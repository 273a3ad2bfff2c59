// Uses all of the core, so that a linker which drops what nobody calls keeps it.

#include <cstdio>
#include <vector>

#include "runtime/core/error.h"
#include "runtime/core/etdump.h"
#include "runtime/core/kernel.h"
#include "runtime/core/method.h"
#include "runtime/core/method_meta.h"
#include "runtime/core/tensor_file.h"

namespace etlab {
namespace {

class NoPoller : public Poller {
 public:
  bool poll() override { return false; }
};

// An argument of every kind that a kernel can have.
void everything_out(Context& context, const Tensor& self, const Tensor* weight, int64_t, double,
                    bool, const Scalar&, ScalarType, std::string_view, Span<const int64_t>,
                    Span<const double>, Span<const uint8_t>, Span<Tensor* const>, OptionalTensors,
                    std::optional<int64_t>, Tensor& out) {
  out.resize(weight == nullptr ? self.sizes() : weight->sizes());
  auto* scratch = context.allocate<float>(self.numel());
  context.parallel_for(self.numel(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) scratch[i] = 0;
  });
}

void print(const std::string& text) { std::puts(text.c_str()); }

void run(const Program& program, const std::string& name) {
  const MethodMeta meta = method_meta(program, name);
  for (size_t i = 0; i < meta.instructions.size(); ++i) {
    for (const std::string& line : instruction_source(program.plan(name), i)) print(line);
  }
  const auto method = Method::load(program, name);
  NoPoller poller;
  RunTrace trace(*method, true);
  RunOptions options;
  options.poller = &poller;
  options.observer = &trace;
  method->run({}, options, [](Span<const Value* const> outputs) {
    for (const Value* output : outputs) print(output->describe());
  });
  const TracedMethod traced{&meta, method->load_times(), {&trace}, {}};
  const Etdump dump = write_etdump({&traced, 1});
  std::printf("%zu bytes of events, %zu of results\n", dump.events.size(), dump.tensors.size());
  method->interrupt();
  method->with_state(&poller, [](const std::vector<ValueTable::NamedTensor>& state) {
    for (const ValueTable::NamedTensor& buffer : state) print(buffer.name);
  });
  method->reset_state(&poller);
}

}  // namespace

ETLAB_KERNEL("size::everything.out", everything_out);

}  // namespace etlab

int main(int count, char** arguments) {
  if (count < 3) return 1;
  try {
    etlab::KernelRegistry::global().check();
    etlab::ThreadPool::set_shared_thread_count(count);
    std::vector<std::unique_ptr<const etlab::TensorFile>> external;
    external.push_back(etlab::TensorFile::load(etlab::read_file(arguments[2])));
    const auto source = etlab::map_file(arguments[1]);
    const auto program =
        etlab::Program::load(etlab::view_memory(source->bytes()), std::move(external));
    for (const std::string& name : program->method_names()) etlab::run(*program, name);
    for (const std::string& name : etlab::KernelRegistry::global().names()) etlab::print(name);
    for (const std::string& name : etlab::BackendRegistry::global().names()) etlab::print(name);
  } catch (const etlab::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
