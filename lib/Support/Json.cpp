//===- Json.cpp -----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Json.h"

#include "sluice/Support/Temporaries.h"
#include "sluice/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_set>

namespace sluice {

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {

/// Builds the value itself rather than through nlohmann's own handler: that one
/// lets the last of two equal keys win and never bounds nesting.
class Builder final : public nlohmann::json_sax<Json> {
public:
  static constexpr size_t kMaxDepth = 100;

  Json root;
  std::string problem;

  bool null() override { return add(Json(nullptr)); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(Json(value)); }
  bool number_float(number_float_t value, const string_t &) override { return add(Json(value)); }
  bool string(string_t &value) override { return add(Json(std::move(value))); }
  bool binary(binary_t &) override { return false; }

  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t &name) override {
    Level &level = stack.back();
    if (!level.keys.insert(name).second) {
      problem = concat("key '", excerpt(name), "' appears twice in one object");
      return false;
    }
    // ordered_map's own emplace searches linearly; the set above has done so.
    auto &members = level.value->get_ref<Json::object_t &>();
    static_cast<Json::object_t::Container &>(members).emplace_back(std::move(name), Json());
    slot = &members.back().second;
    return true;
  }

  bool parse_error(size_t, const std::string &last, const nlohmann::detail::exception &failure) override {
    problem = failure.what();
    // The message ends in the whole of what was read last, whatever its bytes are.
    if (size_t at = problem.rfind(last); !last.empty() && at != std::string::npos)
      problem.replace(at, last.size(), excerpt(last));
    // "[json.exception.parse_error.101] parse error at line 1, ..."
    if (size_t end = problem.find("] "); problem.starts_with('[') && end != std::string::npos)
      problem.erase(0, end + 2);
    problem.resize(std::min<size_t>(problem.size(), 300));
    return false;
  }

private:
  struct Level {
    Json *value;
    std::unordered_set<std::string> keys;
  };
  std::vector<Level> stack;
  Json *slot = nullptr; ///< Where the member just named goes.

  Json *place(Json &&value) {
    if (stack.empty()) {
      root = std::move(value);
      return &root;
    }
    if (stack.back().value->is_array()) {
      auto &elements = stack.back().value->get_ref<Json::array_t &>();
      elements.push_back(std::move(value));
      return &elements.back();
    }
    *slot = std::move(value);
    return slot;
  }
  bool add(Json &&value) { return place(std::move(value)) != nullptr; }
  bool open(Json &&value) {
    if (stack.size() == kMaxDepth) {
      problem = concat("nesting is deeper than ", kMaxDepth);
      return false;
    }
    Json *placed = place(std::move(value));
    stack.push_back(Level{placed, {}});
    return true;
  }
  bool close() {
    stack.pop_back();
    return true;
  }
};

} // namespace

/// What a file of another format is told, such as a model where a plan is expected; empty if `text` may be JSON.
static std::string otherFormat(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos)
    return "the text is empty";
  // 0xEF begins the byte order mark, which the parser skips.
  if (std::string_view("{[\"-0123456789tfn\xEF").find(text[first]) != std::string_view::npos)
    return "";
  constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(text[first]);
  return concat("the text is not JSON, its first byte is 0x", kDigits[byte >> 4], kDigits[byte & 15]);
}

Expected<Json> parseJson(std::string_view text, std::string_view origin) {
  if (const std::string problem = otherFormat(text); !problem.empty())
    return makeError(ErrorCode::InvalidInput, problem, ", in '", origin, "', give JSON");
  Builder builder;
  try {
    if (Json::sax_parse(text.begin(), text.end(), &builder))
      return std::move(builder.root);
  } catch (const std::exception &failure) {
    builder.problem = failure.what();
  }
  return makeError(ErrorCode::InvalidInput, builder.problem, ", in '", origin, "', correct the JSON");
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

namespace {
struct FileDescriptor {
  int fd;
  explicit FileDescriptor(int fd) : fd(fd) {}
  FileDescriptor(const FileDescriptor &) = delete;
  FileDescriptor &operator=(const FileDescriptor &) = delete;
  ~FileDescriptor() {
    if (fd >= 0)
      ::close(fd);
  }
};
} // namespace

static tl::unexpected<Error> ioError(std::string_view what, const std::string &path) {
  int code = errno;
  return makeError(code == ENOENT ? ErrorCode::NotFound : ErrorCode::Io, what, " '", path, "', ", std::strerror(code),
                   ", check the path and its permissions");
}

Expected<std::string> readFile(const std::string &path, int64_t maxBytes) {
  // A pipe without a writer is empty, and does not hang the open; of one with a writer all is read.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0)
    return ioError("cannot open", path);
  if (::fcntl(file.fd, F_SETFL, 0) != 0)
    return ioError("cannot read", path);
  struct stat info;
  if (::fstat(file.fd, &info) != 0)
    return ioError("cannot read", path);
  if (S_ISDIR(info.st_mode))
    return makeError(ErrorCode::Io, "'", path, "' is a directory, give a file's path");
  auto tooLarge = [&] {
    return makeError(ErrorCode::InvalidInput, "'", path, "' is larger than ", maxBytes, " bytes, give a smaller file");
  };
  if (S_ISREG(info.st_mode) && info.st_size > maxBytes)
    return tooLarge();

  std::string contents;
  try {
    if (S_ISREG(info.st_mode))
      contents.reserve(static_cast<size_t>(info.st_size));
    char buffer[1 << 16];
    while (true) {
      ssize_t count = ::read(file.fd, buffer, sizeof buffer);
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        return ioError("cannot read", path);
      if (count == 0)
        return contents;
      // Pipes and devices say no size beforehand.
      if (static_cast<int64_t>(contents.size()) + count > maxBytes)
        return tooLarge();
      contents.append(buffer, static_cast<size_t>(count));
    }
  } catch (const std::exception &) {
    return makeError(ErrorCode::Io, "not enough memory to read '", path, "', give a smaller file");
  }
}

Expected<Json> readJsonFile(const std::string &path, int64_t maxBytes) {
  SLUICE_ASSIGN_OR_RETURN(std::string text, readFile(path, maxBytes));
  return parseJson(text, path);
}

std::string jsonText(const Json &json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

Status writeFileAtomically(const std::string &path, std::string_view contents) {
  if (path == "-")
    return makeError(ErrorCode::InvalidInput,
                     "'-' is not a file, give /dev/stdout for the standard output or ./- for a file of that name");
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode))
      return makeError(ErrorCode::Io, "'", path, "' is a directory, give a file's path");
    // A terminal, pipe or device must stay what it is: nothing to rename over.
    FileDescriptor device(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (device.fd < 0 || !writeAll(device.fd, contents))
      return ioError("cannot write", path);
    return {};
  }

  SLUICE_ASSIGN_OR_RETURN(PendingFile file, PendingFile::create(path));
  SLUICE_RETURN_IF_ERROR(file.write(contents));
  return file.keep();
}

//===----------------------------------------------------------------------===//
// JsonReader
//===----------------------------------------------------------------------===//

static tl::unexpected<Error> wrongType(const JsonReader &reader, std::string_view wanted) {
  return makeError(ErrorCode::InvalidInput, "expected ", wanted, " but found ", reader.json().type_name(), ", at '",
                   reader.where(), "', correct the value");
}

bool JsonReader::has(std::string_view key) const {
  return value->is_object() && value->find(std::string(key)) != value->end();
}

Expected<JsonReader> JsonReader::member(std::string_view key) const {
  if (!value->is_object())
    return wrongType(*this, "an object");
  auto found = value->find(std::string(key));
  if (found == value->end())
    return makeError(ErrorCode::InvalidInput, "key '", key, "' is missing, at '", path, "', add the key");
  bool needsDot = !path.empty() && path.back() != ':';
  return JsonReader(*found, concat(path, needsDot ? "." : "", key));
}

Expected<std::vector<JsonReader>> JsonReader::elements() const {
  if (!value->is_array())
    return wrongType(*this, "an array");
  std::vector<JsonReader> result;
  result.reserve(value->size());
  for (const Json &element : *value)
    result.emplace_back(element, concat(path, "[", result.size(), "]"));
  return result;
}

Expected<std::string> JsonReader::asString() const {
  if (!value->is_string())
    return wrongType(*this, "a string");
  return value->get<std::string>();
}

Expected<int64_t> JsonReader::asInteger() const {
  if (value->is_number_unsigned()) {
    uint64_t number = value->get<uint64_t>();
    if (number <= static_cast<uint64_t>(INT64_MAX))
      return static_cast<int64_t>(number);
  } else if (value->is_number_integer()) {
    return value->get<int64_t>();
  } else if (value->is_number_float()) { // "1e9": exact up to 2^53.
    double number = value->get<double>();
    if (std::abs(number) <= 0x1p53 && number == std::trunc(number))
      return static_cast<int64_t>(number);
  }
  return wrongType(*this, "an integer of 64 bits");
}

Expected<double> JsonReader::asNumber() const {
  if (!value->is_number() || !std::isfinite(value->get<double>()))
    return wrongType(*this, "a finite number");
  return value->get<double>();
}

Expected<bool> JsonReader::asBool() const {
  if (!value->is_boolean())
    return wrongType(*this, "true or false");
  return value->get<bool>();
}

Expected<std::string> JsonReader::string(std::string_view key) const {
  return member(key).and_then([](const JsonReader &reader) { return reader.asString(); });
}
Expected<int64_t> JsonReader::integer(std::string_view key) const {
  return member(key).and_then([](const JsonReader &reader) { return reader.asInteger(); });
}
Expected<double> JsonReader::number(std::string_view key) const {
  return member(key).and_then([](const JsonReader &reader) { return reader.asNumber(); });
}
Expected<std::string> JsonReader::string(std::string_view key, std::string_view fallback) const {
  return has(key) ? string(key) : Expected<std::string>(std::string(fallback));
}
Expected<int64_t> JsonReader::integer(std::string_view key, int64_t fallback) const {
  return has(key) ? integer(key) : Expected<int64_t>(fallback);
}
Expected<double> JsonReader::number(std::string_view key, double fallback) const {
  return has(key) ? number(key) : Expected<double>(fallback);
}
Expected<bool> JsonReader::boolean(std::string_view key, bool fallback) const {
  if (!has(key))
    return fallback;
  return member(key).and_then([](const JsonReader &reader) { return reader.asBool(); });
}

Status JsonReader::onlyKeys(std::initializer_list<std::string_view> known) const {
  if (!value->is_object())
    return wrongType(*this, "an object");
  for (const auto &[key, unused] : value->items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      return makeError(ErrorCode::InvalidInput, "key '", excerpt(key), "' is unknown, at '", path,
                       "', remove the key or correct its spelling");
  return {};
}

} // namespace sluice
