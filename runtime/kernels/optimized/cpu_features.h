#pragma once

namespace etlab {

// Instruction sets that this processor has and the operating system saves; read once.
struct CpuFeatures {
  bool avx2 = false;     // with fma and f16c
  bool avx512 = false;   // f, bw, dq, vl
  bool vnni = false;     // avx512_vnni
  bool vbmi = false;     // avx512_vbmi
  bool avx_vnni = false;
  bool neon = false;
  bool dot_product = false;  // of bytes, on AArch64
};

const CpuFeatures& cpu_features();

}  // namespace etlab
