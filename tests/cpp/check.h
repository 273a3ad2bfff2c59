#pragma once

#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "runtime/core/error.h"

// A test framework of one page. ETLAB_TEST(name_of_behaviour) { CHECK(…); }
namespace etlab::test {

struct Test {
  const char* name;
  void (*body)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

struct Registration {
  Registration(const char* name, void (*body)()) { tests().push_back({name, body}); }
};

struct Failure {
  std::string message;
};

[[noreturn]] inline void fail_at(const char* file, int line, const std::string& message) {
  throw Failure{concat(file, ":", line, ": ", message)};
}

// The message of the Error that `body` throws.
inline std::string error_of(const std::function<void()>& body, ErrorKind kind, const char* file,
                            int line) {
  try {
    body();
  } catch (const Error& error) {
    if (error.kind() != kind) fail_at(file, line, concat("another kind of error: ", error.what()));
    return error.what();
  }
  fail_at(file, line, "no error");
}

}  // namespace etlab::test

#define ETLAB_TEST(name)                                                   \
  static void name();                                                      \
  static const ::etlab::test::Registration name##_registration(#name, name); \
  static void name()

#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) ::etlab::test::fail_at(__FILE__, __LINE__, "not so: " #condition); \
  } while (false)

#define CHECK_EQUAL(actual, expected)                                                  \
  do {                                                                                 \
    const auto actual_ = (actual);                                                     \
    const auto expected_ = (expected);                                                 \
    if (!(actual_ == expected_)) {                                                     \
      ::etlab::test::fail_at(__FILE__, __LINE__,                                       \
                             ::etlab::concat(#actual " is ", actual_, ", not ", expected_)); \
    }                                                                                  \
  } while (false)

// CHECK_ERROR(kInvalidProgram, "is missing", load(…));
#define CHECK_ERROR(kind, part, ...)                                                        \
  do {                                                                                      \
    const std::string message_ = ::etlab::test::error_of(                                   \
        [&] { static_cast<void>(__VA_ARGS__); }, ::etlab::ErrorKind::kind, __FILE__, __LINE__); \
    if (message_.find(part) == std::string::npos) {                                         \
      ::etlab::test::fail_at(__FILE__, __LINE__, "the message is: " + message_);            \
    }                                                                                       \
  } while (false)
