#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>

#include "runtime/bindings/bindings.h"
#include "runtime/bindings/programs.h"
#include "runtime/bindings/signals.h"
#include "runtime/core/error.h"
#include "runtime/llm/llm_session.h"

namespace py = pybind11;

namespace etlab {

namespace {

std::shared_ptr<LlmSession> load_session(const ProgramHandle& handle) {
  return load_holding(handle, [](const Program& program) { return LlmSession::load(program); });
}

py::dict stats_to_python(const GenerationStats& stats) {
  py::dict result;
  result["prompt_tokens"] = stats.prompt_tokens;
  result["reused_tokens"] = stats.reused_tokens;
  result["generated_tokens"] = stats.generated_tokens;
  result["prefill_ns"] = stats.prefill;
  result["first_token_ns"] = stats.first_token;
  result["decode_ns"] = stats.decode;
  result["decode_steps"] = stats.decode_steps;
  result["sampling_ns"] = stats.sampling;
  result["finish_reason"] = name_of(stats.reason);
  return result;
}

py::dict generate(LlmSession& session, const std::vector<int64_t>& prompt,
                  const SamplerOptions& sampler, int64_t max_new_tokens,
                  const std::vector<int64_t>& stop_tokens, const py::object& on_token) {
  const GenerationOptions options{sampler, max_new_tokens, stop_tokens};
  GenerationStats stats;
  run_interruptible([&](Poller* poller) {
    stats = session.generate(
        prompt, options,
        [&](int64_t token) {
          py::gil_scoped_acquire acquire;
          return on_token.is_none() || !on_token(token).is(py::bool_(false));
        },
        poller);
  });
  return stats_to_python(stats);
}

// The logits of the token behind the prompt, float32[vocabulary].
py::object prefill(LlmSession& session, const std::vector<int64_t>& prompt,
                   const py::object& allocate) {
  py::object result;
  run_interruptible([&](Poller* poller) {
    const Span<const float> logits = session.prefill(prompt, poller);
    py::gil_scoped_acquire acquire;
    const int64_t sizes[] = {static_cast<int64_t>(logits.size())};
    const Tensor tensor(ScalarType::kFloat, sizes, {}, const_cast<float*>(logits.data()),
                        logits.size() * sizeof(float));
    result = tensor_to_python(tensor, allocate);
  });
  return result;
}

py::list memory(LlmSession& session) {
  std::vector<MethodMemory> found;
  run_interruptible([&](Poller* poller) { found = session.memory(poller); });
  py::list result;
  for (const MethodMemory& method : found) result.append(memory_to_python(method));
  return result;
}

// Logits of float32 that lie in one row.
Span<const float> logits_from_python(const py::handle& description) {
  const Tensor tensor = tensor_from_python(description);
  ETLAB_CHECK(tensor.type() == ScalarType::kFloat && tensor.dim() == 1 && tensor.is_contiguous(),
              kInvalidArgument, "logits: expected a contiguous float32[vocabulary], got ",
              describe(tensor));
  return {tensor.data<float>(), static_cast<size_t>(tensor.numel())};
}

py::dict model_to_python(const LanguageModel& model) {
  py::dict result;
  result["max_context_length"] = model.max_context;
  result["max_prefill_length"] = model.prefill_length;
  result["is_prefill_fixed"] = model.is_prefill_fixed;
  result["uses_cache"] = model.uses_cache;
  result["can_step_back"] = model.can_step_back;
  result["shares_cache"] = model.prefill_method != model.decode_method;
  result["vocabulary_size"] = model.vocabulary;
  result["bos_ids"] = model.bos;
  result["eos_ids"] = model.eos;
  return result;
}

}  // namespace

void bind_llm(py::module_& module) {
  py::class_<SamplerOptions>(module, "SamplerOptions")
      .def(py::init([](double temperature, int64_t top_k, double top_p, double min_p,
                       uint64_t seed) {
             return SamplerOptions{temperature, top_k, top_p, min_p, seed};
           }),
           py::kw_only(), py::arg("temperature") = 0.0, py::arg("top_k") = 0,
           py::arg("top_p") = 1.0, py::arg("min_p") = 0.0, py::arg("seed") = 0);
  py::class_<Sampler>(module, "Sampler")
      .def(py::init<const SamplerOptions&>(), py::arg("options"))
      .def("sample",
           [](Sampler& sampler, const py::handle& logits) {
             return sampler.sample(logits_from_python(logits));
           })
      .def("candidates", [](Sampler& sampler, const py::handle& logits) {
        py::list result;
        for (const Sampler::Candidate& one : sampler.candidates(logits_from_python(logits))) {
          result.append(py::make_tuple(one.token, one.weight));
        }
        return result;
      });
  py::class_<LlmSession, std::shared_ptr<LlmSession>>(module, "LlmSession")
      .def_static("load", &load_session, py::arg("program"))
      .def("generate", &generate, py::arg("prompt"), py::arg("sampler"),
           py::arg("max_new_tokens") = -1, py::arg("stop_tokens") = std::vector<int64_t>(),
           py::arg("on_token") = py::none())
      .def("prefill", &prefill, py::arg("prompt"), py::arg("allocate"))
      .def("stop", &LlmSession::stop)
      .def("rewind", &LlmSession::rewind, py::arg("length"))
      .def("memory", &memory)
      .def_property_readonly("tokens", &LlmSession::tokens)
      .def_property_readonly("load_ns", &LlmSession::load_time)
      .def_property_readonly("model", [](const LlmSession& session) {
        return model_to_python(session.model());
      });
}

}  // namespace etlab
