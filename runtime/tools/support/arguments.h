#pragma once

#include <charconv>
#include <limits>
#include <string>
#include <vector>

#include "runtime/core/error.h"

namespace etlab {

// Takes a command line apart, word by word; what is wrong is kInvalidArgument with the usage.
class ArgumentReader {
 public:
  ArgumentReader(const std::vector<std::string>& arguments, const char* usage)
      : arguments_(arguments), usage_(usage) {}

  bool is_done() const { return next_ == arguments_.size(); }
  const std::string& take() { return arguments_[next_++]; }
  const std::string& value_of(const std::string& option) {
    ETLAB_CHECK(!is_done(), kInvalidArgument, option, ": expected a value after it\n", usage_);
    return take();
  }
  // Everything up to the next option. A negative number is no option.
  std::vector<std::string> values() {
    std::vector<std::string> found;
    while (!is_done() && arguments_[next_].substr(0, 2) != "--") found.push_back(take());
    return found;
  }
  template <typename Number>
  Number number_of(const std::string& option, Number least) {
    return number_in<Number>(option, value_of(option), least);
  }
  template <typename Number>
  static Number number_in(const std::string& option, const std::string& text, Number least) {
    Number number{};
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_whole = result.ec == std::errc() && result.ptr == text.data() + text.size();
    ETLAB_CHECK(is_whole && number >= least, kInvalidArgument, option, ": expected a number from ",
                least, " to ", std::numeric_limits<Number>::max(), ", got '", text, "'");
    return number;
  }

 private:
  const std::vector<std::string>& arguments_;
  const char* usage_;
  size_t next_ = 0;
};

}  // namespace etlab
