#include "runtime/core/verify.h"

namespace etlab {

const char* foreign_dtype(int number) {
  switch (number) {
    case 8: return "complex32";
    case 9: return "complex64";
    case 10: return "complex128";
    case 12: return "qint8";
    case 13: return "quint8";
    case 14: return "qint32";
    case 16: return "quint4x2";
    case 17: return "quint2x4";
    case 22: return "bits16";
    case 23: return "float8_e5m2";
    case 24: return "float8_e4m3fn";
    case 25: return "float8_e5m2fnuz";
    case 26: return "float8_e4m3fnuz";
    default: return "unknown";
  }
}

}  // namespace etlab
