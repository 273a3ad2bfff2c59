#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/program.h"

namespace etlab {

// What a program says of the language model in it, by ExecuTorch's names: methods without inputs that
// return a constant (get_max_context_len, get_vocab_size, …), and the signature of `forward`.
struct LanguageModel {
  std::string prefill_method;  // takes many tokens at once; "forward" or "prefill"
  std::string decode_method;   // takes one; "forward" or "decode"
  bool uses_cache = true;      // forward(tokens, input_pos); else forward(tokens) of the whole context
  bool can_step_back = true;   // whether the last tokens can be taken back: not in a ring of places,
                               // where they overwrote what their forerunners see
  int64_t max_context = 0;     // tokens that a session can hold
  int64_t prefill_length = 0;  // tokens of one call: at most, or just as many if it is fixed
  bool is_prefill_fixed = false;
  int64_t vocabulary = 0;
  std::vector<int64_t> bos;    // at most one
  std::vector<int64_t> eos;    // tokens that end a text
};

// Throws kInvalidProgram saying what of the contract is not kept and how to export a program that
// keeps it.
LanguageModel language_model_of(const Program& program);

}  // namespace etlab
