//===- StringFunctions.cpp - Functions on text ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "StringFunctions.h"

#include "HostLibraries.h"
#include "Numbers.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <locale.h>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <wctype.h>

namespace sluice::runtime {

char *TextStore::take(size_t bytes) {
  constexpr size_t kBlockBytes = 64 * 1024;
  std::lock_guard<std::mutex> lock(mutex);
  if (bytes > left) {
    // A long text has a block to itself.
    const size_t size = std::max(bytes, kBlockBytes);
    blocks.push_back(std::make_unique<char[]>(size));
    left = size;
  }
  left -= bytes;
  return blocks.back().get() + left;
}

void TextStore::clear() {
  blocks.clear();
  left = 0;
  std::lock_guard<std::mutex> lock(mutex);
  failed.clear();
}

void TextStore::fail(const std::string &why) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failed.empty())
    failed = why;
}

std::string TextStore::problem() const {
  std::lock_guard<std::mutex> lock(mutex);
  return failed;
}

namespace {

std::string_view view(const sluice_string &text) {
  return text.size > 0 ? std::string_view(text.data, static_cast<size_t>(text.size)) : std::string_view();
}
sluice_string element(std::string_view text) { return {text.data(), static_cast<int64_t>(text.size())}; }

class Settings {
public:
  explicit Settings(std::string_view bytes) : rest(bytes) {}
  int64_t number() {
    int64_t value;
    std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
    return value;
  }
  /// What models of older versions do not say.
  int64_t numberOr(int64_t fallback) { return rest.empty() ? fallback : number(); }
  std::string_view text() { return bytes(static_cast<size_t>(number())); }
  std::vector<std::string_view> list() {
    std::vector<std::string_view> texts;
    for (int64_t count = number(); count > 0; --count)
      texts.push_back(text());
    return texts;
  }

private:
  std::string_view bytes(size_t count) {
    if (count > rest.size())
      throw std::out_of_range("settings");
    std::string_view taken = rest.substr(0, count);
    rest.remove_prefix(count);
    return taken;
  }
  std::string_view rest;
};

/// The operands' values are wrong.
struct WrongValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Text within a message.
std::string quoted(std::string_view text) {
  constexpr size_t kMost = 80;
  std::string result = "'";
  for (char c : text.substr(0, kMost))
    result += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  return result + (text.size() > kMost ? "...'" : "'");
}

enum class Case : int64_t { Unchanged, Lower, Upper };

/// Unicode's simple case mapping, whatever the process's locale.
class CaseMapping {
public:
  CaseMapping() : locale(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (!locale)
      throw std::runtime_error("no locale C.UTF-8");
  }
  CaseMapping(const CaseMapping &) = delete;
  ~CaseMapping() { freelocale(locale); }

  std::string map(std::string_view text, Case wanted) const {
    std::string result;
    for (size_t at = 0; at < text.size();) {
      uint32_t code = 0;
      const size_t length = decode(text.substr(at), code);
      if (length == 0 || wanted == Case::Unchanged) {
        const size_t kept = std::max<size_t>(length, 1);
        result.append(text.substr(at, kept));
        at += kept;
        continue;
      }
      encode(wanted == Case::Lower ? towlower_l(code, locale) : towupper_l(code, locale), result);
      at += length;
    }
    return result;
  }

private:
  /// Bytes of the first character; 0 where there is none.
  static size_t decode(std::string_view text, uint32_t &code) {
    const auto first = static_cast<unsigned char>(text[0]);
    const size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
    if (length == 0 || length > text.size())
      return 0;
    code = length == 1 ? first : first & (0x7fU >> length);
    for (size_t i = 1; i < length; ++i) {
      const auto next = static_cast<unsigned char>(text[i]);
      if (next >> 6 != 2)
        return 0;
      code = code << 6 | (next & 0x3fU);
    }
    // Longer than it need be, or no character at all: not UTF-8.
    constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    return code < kLeast[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : length;
  }
  static void encode(uint32_t code, std::string &out) {
    auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xc0 | code >> 6);
      tail(0);
    } else if (code < 0x10000) {
      out += static_cast<char>(0xe0 | code >> 12);
      tail(6), tail(0);
    } else {
      out += static_cast<char>(0xf0 | code >> 18);
      tail(12), tail(6), tail(0);
    }
  }
  locale_t locale;
};

sluice_string kept(TextStore &store, std::string_view text) {
  char *to = store.take(text.size());
  std::copy(text.begin(), text.end(), to);
  return element({to, text.size()});
}

void concat(TextStore &store, int64_t count, void *const *args) {
  const auto *left = static_cast<const sluice_string *>(args[0]), *right = static_cast<const sluice_string *>(args[1]);
  auto *out = static_cast<sluice_string *>(args[2]);
  for (int64_t i = 0; i < count; ++i) {
    const std::string_view a = view(left[i]), b = view(right[i]);
    char *to = store.take(a.size() + b.size());
    std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), to));
    out[i] = element({to, a.size() + b.size()});
  }
}

void find(int64_t count, const std::vector<std::string_view> &keys, void *const *args) {
  std::unordered_map<std::string_view, int64_t> places;
  for (size_t i = 0; i < keys.size(); ++i)
    places.emplace(keys[i], static_cast<int64_t>(i));
  const auto *in = static_cast<const sluice_string *>(args[0]);
  auto *out = static_cast<int64_t *>(args[1]);
  for (int64_t i = 0; i < count; ++i) {
    auto place = places.find(view(in[i]));
    out[i] = place == places.end() ? static_cast<int64_t>(keys.size()) : place->second;
  }
}

void normalize(TextStore &store, int64_t count, Settings &settings, void *const *args) {
  const auto change = static_cast<Case>(settings.number());
  const bool caseMatters = settings.number() != 0;
  const CaseMapping mapping;
  auto compared = [&](std::string_view word) { return mapping.map(word, caseMatters ? Case::Unchanged : Case::Lower); };
  std::unordered_set<std::string> stopWords;
  for (std::string_view word : settings.list())
    stopWords.insert(compared(word));
  const auto *in = static_cast<const sluice_string *>(args[0]);
  auto *out = static_cast<sluice_string *>(args[1]);
  int64_t number = 0;
  for (int64_t i = 0; i < count; ++i) {
    const std::string_view word = view(in[i]);
    if (stopWords.empty() || stopWords.count(compared(word)) == 0)
      out[number++] = change == Case::Unchanged ? in[i] : kept(store, mapping.map(word, change));
  }
  const int64_t room = std::max<int64_t>(count, 1);
  std::fill(out + number, out + room, sluice_string{nullptr, 0});
  *static_cast<int64_t *>(args[2]) = std::max<int64_t>(number, 1);
}

constexpr std::string_view kSpaces = " \t\n\v\f\r";

void skipSpaces(std::string_view &text) { text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size())); }

/// The first of what is left of a text; takes it, and the delimiter behind it.
std::string_view takePart(std::string_view &rest, std::string_view delimiter, bool isLast) {
  const size_t end = isLast ? rest.npos : delimiter.empty() ? rest.find_first_of(kSpaces) : rest.find(delimiter);
  std::string_view part = rest.substr(0, end);
  if (end == rest.npos) {
    rest = {};
    return part;
  }
  rest.remove_prefix(end + delimiter.size());
  if (delimiter.empty())
    skipSpaces(rest);
  return part;
}

void split(int64_t count, Settings &settings, void *const *args) {
  const int64_t room = settings.number();
  const std::string_view delimiter = settings.text();
  const bool whole = settings.numberOr(0) != 0;
  const auto *in = static_cast<const sluice_string *>(args[0]);
  auto *parts = static_cast<sluice_string *>(args[1]);
  auto *counts = static_cast<int64_t *>(args[2]), *most = static_cast<int64_t *>(args[3]);
  *most = 0;
  for (int64_t i = 0; i < count; ++i, parts += room) {
    std::string_view rest = view(in[i]);
    if (delimiter.empty())
      skipSpaces(rest);
    int64_t number = 0;
    for (bool more = !delimiter.empty() || !rest.empty(); more && number < room; ++number) {
      const size_t before = rest.size();
      const std::string_view part = takePart(rest, delimiter, !whole && number + 1 == room);
      parts[number] = element(part);
      // A delimiter at the end has an empty part behind it.
      more = delimiter.empty() ? !rest.empty() : before != part.size();
      if (whole && more && number + 1 == room)
        throw WrongValue("text " + quoted(view(in[i])) + " has more parts than the " + std::to_string(room) +
                         " that the model declares, declare more parts for the output of the operator");
    }
    std::fill(parts + number, parts + room, sluice_string{nullptr, 0});
    counts[i] = number;
    *most = std::max(*most, number);
  }
}

void equal(int64_t count, void *const *args) {
  const auto *left = static_cast<const sluice_string *>(args[0]), *right = static_cast<const sluice_string *>(args[1]);
  auto *out = static_cast<uint8_t *>(args[2]);
  for (int64_t i = 0; i < count; ++i)
    out[i] = view(left[i]) == view(right[i]);
}

void match(int64_t count, std::string_view pattern, void *const *args) {
  const Result<const RegexLibrary *> found = regexLibrary();
  if (!found)
    throw WrongValue(found.error());
  const RegexLibrary &library = **found;
  char error[256] = "";
  const std::unique_ptr<void, void (*)(void *)> regex(
      library.compile(pattern.data(), static_cast<int64_t>(pattern.size()), error, sizeof error), library.release);
  if (!regex)
    throw WrongValue("regular expression " + quoted(pattern) + " is invalid (RE2 reports \"" + error +
                     "\"), correct the model");
  const auto *in = static_cast<const sluice_string *>(args[0]);
  auto *out = static_cast<uint8_t *>(args[1]);
  for (int64_t i = 0; i < count; ++i) {
    const std::string_view text = view(in[i]);
    const int32_t result = library.matches(regex.get(), text.data(), static_cast<int64_t>(text.size()));
    if (result < 0)
      throw std::bad_alloc();
    out[i] = result != 0;
  }
}

template <typename Number>
void readNumbers(int64_t count, void *const *args) {
  const auto *in = static_cast<const sluice_string *>(args[0]);
  for (int64_t i = 0; i < count; ++i)
    if (!readNumber(view(in[i]), static_cast<Number *>(args[1])[i]))
      throw WrongValue("text " + quoted(view(in[i])) +
                       " is not a number of the type to which the model casts it, element " + std::to_string(i) +
                       ", give decimal numbers");
}

template <typename Number>
void writeNumbers(TextStore &store, int64_t count, void *const *args) {
  const auto *in = static_cast<const Number *>(args[0]);
  for (int64_t i = 0; i < count; ++i)
    static_cast<sluice_string *>(args[1])[i] = kept(store, textOf(in[i]));
}

/// Calls `run` with a number of that type.
template <typename Run>
void forNumberType(int64_t type, Run run) {
  switch (type) {
  case SLUICE_NUMBER_F32:
    return run(float());
  case SLUICE_NUMBER_F64:
    return run(double());
  case SLUICE_NUMBER_I64:
    return run(int64_t());
  case SLUICE_NUMBER_U64:
    return run(uint64_t());
  default:
    throw std::out_of_range("number type");
  }
}

void check(int64_t count, std::string_view message, void *const *args) {
  const auto *in = static_cast<const uint8_t *>(args[0]);
  if (const uint8_t *wrong = std::find(in, in + count, 0); wrong != in + count)
    throw WrongValue(std::string(message) + ", element " + std::to_string(wrong - in));
  std::copy(in, in + count, static_cast<uint8_t *>(args[1]));
}

void decodeImage(int64_t count, Settings &settings, void *const *args) {
  const Result<const ImageLibrary *> found = imageLibrary();
  if (!found)
    throw WrongValue(found.error());
  const ImageLibrary &library = **found;
  sluice_encoded_image image{args[0], count, 0, 0, 0};
  image.height = settings.number();
  image.width = settings.number();
  image.format = static_cast<uint32_t>(settings.number());
  char error[256] = "";
  if (library.decode(&image, static_cast<uint8_t *>(args[1]), error, sizeof error) != 0)
    throw WrongValue(error);
}

} // namespace

int32_t runStringFunction(TextStore &store, uint32_t function, void *const *args, std::string_view settings) {
  constexpr int32_t kUnfit = 1, kNoMemory = 2, kWrongValue = 3;
  try {
    Settings read(settings);
    if (function == SLUICE_STRING_CONSTANT) {
      const std::vector<std::string_view> texts = read.list();
      std::transform(texts.begin(), texts.end(), static_cast<sluice_string *>(args[0]), element);
      return 0;
    }
    const int64_t count = read.number();
    switch (function) {
    case SLUICE_STRING_EQUAL:
      equal(count, args);
      return 0;
    case SLUICE_STRING_CONCAT:
      concat(store, count, args);
      return 0;
    case SLUICE_STRING_FIND:
      find(count, read.list(), args);
      return 0;
    case SLUICE_STRING_NORMALIZE:
      normalize(store, count, read, args);
      return 0;
    case SLUICE_STRING_SPLIT:
      split(count, read, args);
      return 0;
    case SLUICE_STRING_MATCH:
      match(count, read.text(), args);
      return 0;
    case SLUICE_STRING_TO_NUMBER:
      forNumberType(read.number(), [&](auto number) { readNumbers<decltype(number)>(count, args); });
      return 0;
    case SLUICE_STRING_FROM_NUMBER:
      forNumberType(read.number(), [&](auto number) { writeNumbers<decltype(number)>(store, count, args); });
      return 0;
    case SLUICE_CHECK:
      check(count, read.text(), args);
      return 0;
    case SLUICE_DECODE_IMAGE:
      decodeImage(count, read, args);
      return 0;
    default:
      return kUnfit;
    }
  } catch (const std::bad_alloc &) {
    return kNoMemory;
  } catch (const WrongValue &wrong) {
    store.fail(wrong.what());
    return kWrongValue;
  } catch (const std::exception &) {
    return kUnfit;
  }
}

} // namespace sluice::runtime
