//===- Npy.cpp - NumPy's array files --------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/TensorIO/Npy.h"

#include "sluice/Support/Json.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <bit>
#include <cstring>

static_assert(std::endian::native == std::endian::little, "NPY data is read and written as it lies in memory");

namespace sluice {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 64;
constexpr int64_t kMaxFileBytes = int64_t(1) << 40;

struct TypeCode {
  std::string_view code; ///< Without the byte order.
  ElementType type;
};
constexpr TypeCode kCodes[] = {
    {"f4", ElementType::Float32},  {"f2", ElementType::Float16}, {"f8", ElementType::Float64},
    {"i1", ElementType::Int8},     {"i2", ElementType::Int16},   {"i4", ElementType::Int32},
    {"i8", ElementType::Int64},    {"u1", ElementType::UInt8},   {"u2", ElementType::UInt16},
    {"u4", ElementType::UInt32},   {"u8", ElementType::UInt64},  {"b1", ElementType::Bool},
    {"V2", ElementType::BFloat16},
};

/// The header: a Python dictionary literal of three known keys.
class HeaderParser {
public:
  HeaderParser(std::string_view text, std::string_view origin) : text(text), origin(origin) {}

  struct Header {
    std::string descr;
    bool fortranOrder = false;
    std::vector<int64_t> shape;
  };

  Expected<Header> parse() {
    Header header;
    bool seen[3] = {false, false, false};
    if (!take('{'))
      return malformed("'{'");
    while (!take('}')) {
      SLUICE_ASSIGN_OR_RETURN(std::string key, string());
      if (!take(':'))
        return malformed("':'");
      Status value;
      size_t which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : 3;
      if (which == 3 || seen[which])
        return malformed("'descr', 'fortran_order' and 'shape', once each,");
      seen[which] = true;
      if (which == 0)
        value = descr(header.descr);
      else if (which == 1)
        value = boolean(header.fortranOrder);
      else
        value = shape(header.shape);
      if (!value)
        return propagate(value);
      if (!take(',') && peek() != '}')
        return malformed("',' or '}'");
    }
    skipSpace();
    if (at != text.size() || !seen[0] || !seen[1] || !seen[2])
      return malformed("'descr', 'fortran_order' and 'shape', once each,");
    return header;
  }

private:
  tl::unexpected<Error> malformed(std::string_view expected) const {
    return makeError(ErrorCode::InvalidInput, "malformed NPY header, in '", origin, "': ", expected,
                     " expected at character ", at, ", give a file that numpy.save wrote");
  }
  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r'))
      ++at;
  }
  char peek() {
    skipSpace();
    return at < text.size() ? text[at] : '\0';
  }
  bool take(char c) {
    if (peek() != c || at >= text.size())
      return false;
    ++at;
    return true;
  }
  Expected<std::string> string() {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return malformed("a string");
    size_t end = text.find(quote, at + 1);
    if (end == std::string_view::npos || text.substr(at, end - at).find('\\') != std::string_view::npos)
      return malformed("a plain string");
    std::string value(text.substr(at + 1, end - at - 1));
    at = end + 1;
    return value;
  }
  Status descr(std::string &out) {
    if (peek() == '[')
      return makeError(ErrorCode::Unsupported, "NPY file '", origin,
                       "' holds records, give an array of one element type");
    SLUICE_ASSIGN_OR_RETURN(std::string value, string());
    out = std::move(value);
    return {};
  }
  Status boolean(bool &out) {
    skipSpace();
    for (bool value : {true, false}) {
      std::string_view word = value ? "True" : "False";
      if (text.substr(at, word.size()) == word) {
        at += word.size();
        out = value;
        return {};
      }
    }
    return malformed("True or False");
  }
  Status shape(std::vector<int64_t> &out) {
    if (!take('('))
      return malformed("'('");
    while (!take(')')) {
      skipSpace();
      size_t begin = at;
      while (at < text.size() && text[at] >= '0' && text[at] <= '9')
        ++at;
      Expected<int64_t> dimension = parseInteger(text.substr(begin, at - begin));
      if (!dimension || out.size() == kMaxRank)
        return malformed("at most 64 dimensions of int64");
      out.push_back(*dimension);
      take('L'); // Python 2 wrote 3L.
      if (!take(',') && peek() != ')')
        return malformed("',' or ')'");
    }
    return {};
  }

  std::string_view text, origin;
  size_t at = 0;
};

Expected<ElementType> typeOfDescr(std::string_view descr, std::string_view origin) {
  if (descr.size() == 3 && (descr[0] == '<' || descr[0] == '|' || descr[0] == '='))
    for (const TypeCode &code : kCodes)
      if (code.code == descr.substr(1))
        return code.type;
  return makeError(ErrorCode::Unsupported, "NPY type '", descr, "' is not supported, in '", origin,
                   "', convert the array to a little-endian floating-point, integer or boolean type");
}

} // namespace

Expected<HostTensor> parseNpy(std::string_view text, std::string_view origin) {
  auto truncated = [&] {
    return makeError(ErrorCode::InvalidInput, "'", origin,
                     "' is not an NPY file or is truncated, give a file that numpy.save wrote");
  };
  if (text.size() < 10 || text.substr(0, kMagic.size()) != kMagic)
    return truncated();
  unsigned version = static_cast<uint8_t>(text[6]);
  if (version < 1 || version > 3)
    return makeError(ErrorCode::Unsupported, "NPY version ", version, " is not supported, in '", origin,
                     "', save the array with version 1, 2 or 3");
  size_t lengthBytes = version == 1 ? 2 : 4, start = 8 + lengthBytes, length = 0;
  if (text.size() < start)
    return truncated();
  for (size_t i = 0; i < lengthBytes; ++i)
    length |= static_cast<size_t>(static_cast<uint8_t>(text[8 + i])) << (8 * i);
  if (length > text.size() - start)
    return truncated();

  SLUICE_ASSIGN_OR_RETURN(auto header, HeaderParser(text.substr(start, length), origin).parse());
  SLUICE_ASSIGN_OR_RETURN(ElementType type, typeOfDescr(header.descr, origin));
  if (header.fortranOrder && header.shape.size() > 1)
    return makeError(ErrorCode::Unsupported, "'", origin,
                     "' is in Fortran order, convert the array with numpy.ascontiguousarray and save it again");
  SLUICE_ASSIGN_OR_RETURN(int64_t bytes, tensorBytes(type, header.shape));
  std::string_view data = text.substr(start + length);
  if (data.size() != static_cast<uint64_t>(bytes))
    return makeError(ErrorCode::InvalidInput, "'", origin, "' has ", data.size(), " bytes of data and its shape ",
                     formatShape(header.shape), " of ", elementTypeName(type), " needs ", bytes,
                     ", save the array again");
  Expected<HostTensor> tensor = makeTensor("", type, std::move(header.shape));
  if (!tensor)
    return propagate(tensor);
  if (!data.empty())
    std::memcpy(tensor->bytes.data(), data.data(), data.size());
  if (type == ElementType::Bool)
    for (std::byte &value : tensor->bytes)
      value = value == std::byte(0) ? value : std::byte(1);
  return tensor;
}

Expected<HostTensor> readNpy(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(std::string text, readFile(path, kMaxFileBytes));
  Expected<HostTensor> tensor = parseNpy(text, path);
  if (!tensor)
    return propagate(tensor);
  std::string name = path.substr(path.find_last_of('/') + 1);
  if (name.ends_with(".npy"))
    name.resize(name.size() - 4);
  tensor->name = std::move(name);
  return tensor;
}

/// NPY's name of a type; of one that it lacks, that of the bytes it is stored in.
static std::string_view codeOf(ElementType type) {
  for (const TypeCode &entry : kCodes)
    if (entry.type == type)
      return entry.code;
  if (isFloatingPoint(type))
    return "V1";
  return type == ElementType::Int4 || type == ElementType::Int2 ? "i1" : "u1";
}

std::string formatNpy(const HostTensor &tensor) {
  std::string header = "{'descr': '";
  header += elementBytes(tensor.type) == 1 ? '|' : '<';
  header += codeOf(tensor.type);
  header += "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    header += (i ? ", " : "") + std::to_string(tensor.shape[i]);
  header += tensor.shape.size() == 1 ? ",), }" : "), }";
  // The data starts at a multiple of 64; the header ends in a newline.
  size_t lengthBytes = header.size() + 64 + 10 <= 0xffff ? 2 : 4;
  size_t total = (8 + lengthBytes + header.size() + 1 + 63) / 64 * 64;
  size_t length = total - 8 - lengthBytes;
  header.resize(length - 1, ' ');
  header += '\n';

  std::string text(kMagic);
  text += lengthBytes == 2 ? '\x01' : '\x02';
  text += '\0';
  for (size_t i = 0; i < lengthBytes; ++i)
    text += static_cast<char>(length >> (8 * i) & 0xff);
  text += header;
  text.append(reinterpret_cast<const char *>(tensor.bytes.data()), tensor.bytes.size());
  return text;
}

Status writeNpy(const std::string &path, const HostTensor &tensor) {
  if (tensor.type == ElementType::String)
    return makeError(ErrorCode::Unsupported, "tensor '", tensor.name,
                     "' holds strings, which .npy files cannot store, '", path, "', leave --output-dir out");
  return writeFileAtomically(path, formatNpy(tensor));
}

} // namespace sluice
