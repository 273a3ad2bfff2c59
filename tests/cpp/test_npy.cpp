#include <string>
#include <vector>

#include "runtime/tools/support/npy.h"
#include "runtime/tools/support/request.h"
#include "tests/cpp/check.h"

// Files and command lines of etlab-run: what is wrong is an Error, whatever it is.
namespace etlab::test {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes npy(const std::string& header, size_t data_bytes) {
  Bytes file = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<uint8_t>(header.size()), 0};
  file.insert(file.end(), header.begin(), header.end());
  file.resize(file.size() + data_bytes, 1);
  return file;
}

OwnedTensor parse(const Bytes& file) { return parse_npy({file.data(), file.size()}, "x.npy"); }

Bytes plain() { return npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", 12); }

// Parses bytes that may be anything; true when they are an array.
bool is_accepted(const Bytes& file) {
  try {
    const OwnedTensor array = parse(file);
    return array.tensor.nbytes() <= file.size();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

ETLAB_TEST(npy_gives_sizes_dtype_and_order_in_memory) {
  const OwnedTensor array = parse(plain());
  CHECK_EQUAL(describe(array.tensor), std::string("int16[2, 3]"));
  CHECK_EQUAL(array.tensor.stride(0), 1);
  CHECK_EQUAL(array.tensor.stride(1), 2);
  CHECK_EQUAL(array.tensor.data<int16_t>()[5], 0x0101);
}

ETLAB_TEST(npy_of_any_length_is_an_array_or_an_error) {
  const Bytes whole = plain();
  for (size_t length = 0; length < whole.size(); ++length) {
    CHECK(!is_accepted(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))));
  }
}

ETLAB_TEST(npy_with_any_byte_changed_is_an_array_or_an_error) {
  const Bytes whole = plain();
  int accepted = 0;
  for (size_t place = 0; place + 12 < whole.size(); ++place) {
    for (int value = 0; value < 256; ++value) {
      Bytes bent = whole;
      bent[place] = static_cast<uint8_t>(value);
      accepted += is_accepted(bent) ? 1 : 0;
    }
  }
  CHECK(accepted > 0);  // the unchanged bytes are among them
}

ETLAB_TEST(npy_of_an_empty_array_of_any_sizes_is_no_overflow) {
  const Bytes file =
      npy("{'descr': '|b1', 'fortran_order': False, 'shape': (0, 9223372036854775807, 9), }", 0);
  static_cast<void>(is_accepted(file));
  const Bytes small = npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3, 0), }", 0);
  CHECK_EQUAL(parse(small).tensor.numel(), 0);
}

ETLAB_TEST(npy_bools_are_zero_or_one) {
  Bytes file = npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", 2);
  CHECK_EQUAL(parse(file).tensor.numel(), 2);
  file.back() = 2;
  CHECK_ERROR(kInvalidArgument, "a bool of value 2", parse(file));
}

ETLAB_TEST(a_request_collects_inputs_call_by_call) {
  const Request request =
      parse_request({"a.pte", "--inputs", "x.npy", "-3", "--inputs", "--runs", "2"});
  CHECK_EQUAL(request.program, std::string("a.pte"));
  CHECK_EQUAL(request.calls->size(), size_t{2});
  CHECK_EQUAL(request.calls->front()[1], std::string("-3"));
  CHECK(request.calls->back().empty());
  CHECK_EQUAL(request.runs, 2);
}

ETLAB_TEST(a_request_is_refused_with_what_is_wrong) {
  CHECK_ERROR(kInvalidArgument, "no program", parse_request({}));
  CHECK_ERROR(kInvalidArgument, "from 1 to 2147483647, got '0'", parse_request({"a", "--runs", "0"}));
  CHECK_ERROR(kInvalidArgument, "got '9999999999'", parse_request({"a", "--runs", "9999999999"}));
  CHECK_ERROR(kInvalidArgument, "--method: expected a value", parse_request({"a", "--method"}));
  CHECK_ERROR(kInvalidArgument, "second program", parse_request({"a", "b"}));
}

}  // namespace etlab::test
