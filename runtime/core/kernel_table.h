#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/kernel.h"

namespace etlab {

// How a shared library hands its custom kernels to a process that runs etlab. The library links the
// core of its own (etlab::core of the CMake package) and ends one of its files with
//
//   ETLAB_CUSTOM_KERNEL("mylib::scale.out", scale_out);
//   ETLAB_EXPORT_KERNELS();
//
// Tensors and values cross as they are, so both sides must be built from the same headers by
// compilers of one ABI; `layout` tells most of what could differ.
struct KernelTable {
  struct Entry {
    const char* name;
    BoxedFunction run;
  };
  uint32_t version;
  uint32_t layout[4];
  size_t count;
  const Entry* entries;
};

constexpr uint32_t kKernelTableVersion = 1;
constexpr char kKernelTableSymbol[] = "etlab_kernel_table";

inline KernelTable kernel_table(const std::vector<KernelTable::Entry>& entries) {
  return {kKernelTableVersion,
          {sizeof(Value), sizeof(Tensor), sizeof(Context), sizeof(Scalar)},
          entries.size(),
          entries.data()};
}

// The custom kernels that this library registered; they stay for as long as it is loaded.
inline const KernelTable* exported_kernels() {
  static const std::vector<std::string> names = KernelRegistry::global().names();
  static const std::vector<KernelTable::Entry> entries = [] {
    std::vector<KernelTable::Entry> found;
    for (const std::string& name : names) {
      const BoxedFunction run = KernelRegistry::global().find(name)->custom.run;
      if (run != nullptr) found.push_back({name.c_str(), run});
    }
    return found;
  }();
  static const KernelTable table = kernel_table(entries);
  return &table;
}

}  // namespace etlab

#ifdef _WIN32
#define ETLAB_EXPORT __declspec(dllexport)
#else
#define ETLAB_EXPORT __attribute__((visibility("default")))
#endif
#define ETLAB_EXPORT_KERNELS()                                        \
  extern "C" ETLAB_EXPORT const ::etlab::KernelTable* etlab_kernel_table(); \
  const ::etlab::KernelTable* etlab_kernel_table() { return ::etlab::exported_kernels(); } \
  static_assert(true, "")
