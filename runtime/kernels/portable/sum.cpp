#include "runtime/core/kernel.h"
#include "runtime/kernels/util/complex.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/reduce.h"

// Sums and products: the same walk over the values with another accumulator.
namespace etlab {
namespace {

template <typename T>
class Sum {  // of floats
 public:
  void add(T value) { sum_.add(util::to_product(value)); }
  template <typename Result>
  Result total() const {
    return util::from_product<Result>(sum_.total());
  }

 private:
  util::CascadeSum sum_;
};

template <typename T>
class Sum<Complex<T>> {
 public:
  void add(const Complex<T>& value) {
    real_.add(static_cast<double>(value.real));
    imaginary_.add(static_cast<double>(value.imaginary));
  }
  template <typename Result>
  Result total() const {
    return {static_cast<T>(real_.total()), static_cast<T>(imaginary_.total())};
  }

 private:
  util::CascadeSum real_;
  util::CascadeSum imaginary_;
};

// Integers wrap like the result type.
template <typename T>
class IntegerSum {
 public:
  void add(T value) { sum_ += util::to_product(value); }
  template <typename Result>
  Result total() const {
    return static_cast<Result>(sum_);
  }

 private:
  uint64_t sum_ = 0;
};

// Products of float32 and narrower are taken in float32, where they overflow as eager's do.
template <typename T>
using Factor = std::conditional_t<
    std::is_integral_v<T>, uint64_t,
    std::conditional_t<std::is_same_v<T, double> || kIsComplex<T>, T, float>>;

template <typename T>
class Product {
 public:
  void add(T value) {
    if constexpr (kIsComplex<T>) {
      product_ = product_ * value;
    } else {
      product_ *= static_cast<Factor<T>>(util::to_product(value));
    }
  }
  template <typename Result>
  Result total() const {
    return static_cast<Result>(product_);
  }

 private:
  Factor<T> product_{1};
};

struct Sums {
  template <typename T>
  using Of = std::conditional_t<std::is_integral_v<T>, IntegerSum<T>, Sum<T>>;
};
struct Products {
  template <typename T>
  using Of = Product<T>;
};

template <typename Accumulator, typename T, typename Result>
void accumulate(Context& context, const Tensor& self, util::DimMask dims, Tensor& out) {
  const util::IndexBox results(out);
  auto* to = out.data<Result>();
  util::for_each_result<T>(context, util::Reduction(self, dims), self.data<T>(),
                           [&](int64_t index, const util::ReducedValues<T>& values) {
                             typename Accumulator::template Of<T> accumulator;
                             values.for_each([&](T value) { accumulator.add(value); });
                             to[results.offset(index)] =
                                 accumulator.template total<Result>();
                           });
}

// Taken in the dtype of the result; integers that go to int64 are not converted first.
template <typename Accumulator>
void accumulate_out(Context& context, const char* who, const Tensor& self, util::DimMask dims,
                    bool keepdim, std::optional<ScalarType> dtype, Tensor& out) {
  util::check_distinct(who, self, out);
  if (dtype.has_value()) check_type(who, "out", out, *dtype);
  out.resize(util::reduced_sizes(self, dims, keepdim));
  if (out.type() == ScalarType::kLong && is_integral(self.type(), true)) {
    dispatch<util::IntegerTypes>(self.type(), who, [&](auto tag) {
      accumulate<Accumulator, TypeOf<decltype(tag)>, int64_t>(context, self, dims, out);
    });
    return;
  }
  const Tensor values = util::converted(context, self, out.type());
  dispatch<AnyTypes>(out.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    accumulate<Accumulator, T, T>(context, values, dims, out);
  });
}

void sum_out(Context& context, const Tensor& self, std::optional<Span<const int64_t>> dim,
             bool keepdim, std::optional<ScalarType> dtype, Tensor& out) {
  const char* who = "aten::sum.IntList_out";
  const util::DimMask dims = util::dim_mask_or_all(who, dim, self.dim());
  accumulate_out<Sums>(context, who, self, dims, keepdim, dtype, out);
}

void prod_int_out(Context& context, const Tensor& self, int64_t dim, bool keepdim,
                  std::optional<ScalarType> dtype, Tensor& out) {
  const char* who = "aten::prod.int_out";
  const util::DimMask dims = util::dim_mask(who, {&dim, 1}, self.dim());
  accumulate_out<Products>(context, who, self, dims, keepdim, dtype, out);
}

void prod_out(Context& context, const Tensor& self, std::optional<ScalarType> dtype,
              Tensor& out) {
  accumulate_out<Products>(context, "aten::prod.out", self, util::all_dims(self.dim()), false,
                           dtype, out);
}

}  // namespace
ETLAB_KERNEL("aten::sum.IntList_out", sum_out);
ETLAB_KERNEL("aten::prod.int_out", prod_int_out);
ETLAB_KERNEL("aten::prod.out", prod_out);
}  // namespace etlab
