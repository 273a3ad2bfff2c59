#include "runtime/llm/llm_session.h"

#include <algorithm>
#include <chrono>

#include "runtime/core/error.h"

namespace etlab {

namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

template <typename T>
void copy_as_float(const T* from, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

bool contains(const std::vector<int64_t>& tokens, int64_t token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

}  // namespace

const char* name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStopToken: return "stop_token";
    case FinishReason::kLength: return "length";
    case FinishReason::kContext: return "context";
    case FinishReason::kCallback: return "callback";
    case FinishReason::kStopped: break;
  }
  return "stopped";
}

class LlmSession::Turn {
 public:
  explicit Turn(LlmSession& session) : session_(session) {
    const std::lock_guard<std::mutex> lock(session_.mutex_);
    ETLAB_CHECK(!session_.is_busy_, kInvalidArgument, "the session works on another call; stop() it "
                "and wait, or open a second session of the program");
    session_.is_busy_ = true;
    session_.is_stopped_ = false;
  }
  ~Turn() {
    const std::lock_guard<std::mutex> lock(session_.mutex_);
    session_.is_busy_ = false;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  LlmSession& session_;
};

std::unique_ptr<LlmSession> LlmSession::load(const Program& program) {
  const int64_t begin = now();
  std::unique_ptr<LlmSession> session(new LlmSession(program));
  session->load_time_ = now() - begin;
  return session;
}

LlmSession::LlmSession(const Program& program) : model_(language_model_of(program)) {
  if (model_.prefill_method != model_.decode_method) {
    ETLAB_CHECK(!program.shared_state().is_empty(), kInvalidProgram, "the methods 'prefill' and "
                "'decode' have a cache each, so that one does not see what the other did; export "
                "them with MemoryPlanningPass(share_mutable_buffers=True)");
    prefill_ = Method::load(program, model_.prefill_method);
  }
  decode_ = Method::load(program, model_.decode_method);
  logits_.resize(static_cast<size_t>(model_.vocabulary));
}

void LlmSession::check_prompt(Span<const int64_t> prompt) const {
  ETLAB_CHECK(!prompt.empty(), kInvalidArgument, "the prompt has no tokens; begin it with the token "
              "that begins a text");
  ETLAB_CHECK(prompt.size() <= static_cast<size_t>(model_.max_context), kInvalidArgument,
              "the prompt has ", prompt.size(), " tokens, the context of the program holds ",
              model_.max_context, "; shorten it, or export the program with a larger "
              "max_context_length");
  for (const int64_t token : prompt) {
    ETLAB_CHECK(token >= 0 && token < model_.vocabulary, kInvalidArgument, "token ", token,
                " of the prompt is not in the vocabulary of the program, which has ",
                model_.vocabulary, "; the tokenizer is that of another model");
  }
}

size_t LlmSession::shared_length(Span<const int64_t> prompt) const {
  // The last token is always computed: its logits are what the next one is drawn from.
  const size_t most = std::min(tokens_.size(), prompt.size() - 1);
  size_t length = 0;
  while (length < most && tokens_[length] == prompt[length]) ++length;
  return length;
}

size_t LlmSession::catch_up(Span<const int64_t> prompt, Poller* poller) {
  check_prompt(prompt);
  size_t reused = model_.uses_cache ? shared_length(prompt) : 0;
  if (!model_.can_step_back && reused < tokens_.size()) reused = 0;
  forget(reused);
  feed(prompt, reused, poller);
  return reused;
}

void LlmSession::feed(Span<const int64_t> text, size_t begin, Poller* poller) {
  if (!model_.uses_cache) return run(*decode_, text, 0, poller);
  const auto length = static_cast<size_t>(model_.prefill_length);
  while (begin < text.size()) {
    const size_t left = text.size() - begin;
    const bool is_block = left >= length || (!model_.is_prefill_fixed && left > 1);
    const size_t count = is_block ? std::min(left, length) : 1;
    Method& method = is_block && prefill_ != nullptr ? *prefill_ : *decode_;
    run(method, text.subspan(begin, count), begin, poller);
    begin += count;
  }
}

void LlmSession::run(Method& method, Span<const int64_t> tokens, size_t position, Poller* poller) {
  ETLAB_CHECK(!is_stopped_, kInterrupted, "stopped");
  const int64_t token_sizes[] = {1, static_cast<int64_t>(tokens.size())};
  const int64_t position_sizes[] = {1};
  auto place = static_cast<int64_t>(position);
  // Inputs are read only: a method copies those that it writes.
  Tensor token_tensor(ScalarType::kLong, token_sizes, {}, const_cast<int64_t*>(tokens.data()),
                      tokens.size() * sizeof(int64_t));
  Tensor position_tensor(ScalarType::kLong, position_sizes, {}, &place, sizeof(place));
  const Value inputs[] = {Value(&token_tensor), Value(&position_tensor)};
  RunOptions options;
  options.poller = poller;
  method.run({inputs, model_.uses_cache ? size_t{2} : size_t{1}}, options,
             [&](Span<const Value* const> outputs) {
               Tensor* const* logits = outputs[outputs.size() - 1]->get_if<Tensor*>();
               ETLAB_CHECK(logits != nullptr && *logits != nullptr, kInvalidProgram, "method '",
                           method.name(), "' returned no tensor");
               take_logits(**logits, tokens.size());
             });
  const std::lock_guard<std::mutex> lock(mutex_);
  tokens_.resize(position);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

// The logits of the last token: all that there are, or the last row of one for each token.
void LlmSession::take_logits(const Tensor& output, size_t token_count) {
  const int64_t rows = output.dim() == 3 ? output.size(1) : 1;
  const bool is_expected = output.is_contiguous() && output.has_memory() &&
                           output.size(-1) == model_.vocabulary &&
                           output.numel() == rows * model_.vocabulary &&
                           (rows == 1 || rows == static_cast<int64_t>(token_count));
  ETLAB_CHECK(is_expected, kInvalidProgram, "the model returned ", describe(output), " for ",
              token_count, " tokens, expected logits of the last one or of each (vocabulary ",
              model_.vocabulary, ")");
  const auto count = static_cast<size_t>(model_.vocabulary);
  const size_t begin = static_cast<size_t>(rows - 1) * count;
  switch (output.type()) {
    case ScalarType::kFloat: return copy_as_float(output.data<float>() + begin, count, logits_.data());
    case ScalarType::kHalf: return copy_as_float(output.data<Half>() + begin, count, logits_.data());
    case ScalarType::kBFloat16:
      return copy_as_float(output.data<BFloat16>() + begin, count, logits_.data());
    default:
      fail(ErrorKind::kInvalidProgram, "the model returned ", describe(output),
           ", expected logits of float32, float16 or bfloat16");
  }
}

Span<const float> LlmSession::prefill(Span<const int64_t> prompt, Poller* poller) {
  const Turn turn(*this);
  catch_up(prompt, poller);
  return logits_;
}

GenerationStats LlmSession::generate(Span<const int64_t> prompt, const GenerationOptions& options,
                                     const OnToken& on_token, Poller* poller) {
  Sampler sampler(options.sampler);
  ETLAB_CHECK(options.max_new_tokens >= -1, kInvalidArgument,
              "max_new_tokens: expected a number from 0, or -1 for what the context holds, got ",
              options.max_new_tokens);
  const Turn turn(*this);
  GenerationStats stats;
  stats.prompt_tokens = static_cast<int64_t>(prompt.size());
  const int64_t start = now();
  try {
    stats.reused_tokens = static_cast<int64_t>(catch_up(prompt, poller));
    stats.prefill = now() - start;
    std::vector<int64_t> text(prompt.begin(), prompt.end());
    const int64_t room = model_.max_context - stats.prompt_tokens;
    const bool is_limited = options.max_new_tokens >= 0 && options.max_new_tokens < room;
    const int64_t most = is_limited ? options.max_new_tokens : room;
    stats.reason = is_limited ? FinishReason::kLength : FinishReason::kContext;
    while (stats.generated_tokens < most) {
      if (stats.generated_tokens > 0) {
        feed(text, text.size() - 1, poller);
        ++stats.decode_steps;
      }
      const int64_t sampling = now();
      const int64_t token = sampler.sample(logits_);
      const int64_t end = now();
      stats.sampling += end - sampling;
      if (stats.first_token == 0) stats.first_token = end - start;
      stats.decode = end - start - stats.prefill;
      if (contains(options.stop_tokens, token)) {
        stats.reason = FinishReason::kStopToken;
        break;
      }
      ++stats.generated_tokens;
      text.push_back(token);
      if (!on_token(token)) {
        stats.reason = FinishReason::kCallback;
        break;
      }
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInterrupted || !is_stopped_) throw;
    stats.reason = FinishReason::kStopped;
  }
  return stats;
}

void LlmSession::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!is_busy_) return;
  is_stopped_ = true;
  decode_->interrupt();
  if (prefill_ != nullptr) prefill_->interrupt();
}

void LlmSession::rewind(size_t length) {
  const Turn turn(*this);
  ETLAB_CHECK(model_.can_step_back || length == 0 || length >= tokens_.size(), kNotSupported,
              "the cache of this program is a ring, in which the last tokens cannot be taken back; "
              "rewind(0) forgets all");
  forget(length);
}

void LlmSession::forget(size_t length) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (length < tokens_.size()) tokens_.resize(length);
}

std::vector<int64_t> LlmSession::tokens() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tokens_;
}

std::vector<MethodMemory> LlmSession::memory(Poller* poller) {
  std::vector<MethodMemory> found;
  if (prefill_ != nullptr) found.push_back(prefill_->memory(poller));
  found.push_back(decode_->memory(poller));
  return found;
}

}  // namespace etlab
