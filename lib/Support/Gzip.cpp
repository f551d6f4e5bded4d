//===- Gzip.cpp -----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Gzip.h"

#include <algorithm>
#include <memory>
#include <new>
#if !defined(SLUICE_NO_GZIP)
#include <zlib.h>
#endif

namespace sluice {

bool isGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

#if defined(SLUICE_NO_GZIP)
Expected<std::string> gunzip(std::string_view, std::string_view origin, int64_t) {
  return makeError(ErrorCode::Unsupported, "'", origin,
                   "' is compressed, and this program was built without zlib, unpack the file first");
}
#else
Expected<std::string> gunzip(std::string_view bytes, std::string_view origin, int64_t maxBytes) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16; // The largest window; gzip's header alone.
  if (inflateInit2(&stream, kGzip) != Z_OK)
    return makeError(ErrorCode::Io, "not enough memory to unpack '", origin, "', give a smaller file");
  const std::unique_ptr<z_stream, int (*)(z_stream *)> guard(&stream, inflateEnd);
  std::string text;
  char buffer[1 << 16];
  bool ended = false;
  try {
    // zlib counts its input in 32 bits.
    for (size_t taken = 0;;) {
      if (stream.avail_in == 0) {
        const size_t part = std::min<size_t>(bytes.size() - taken, size_t(1) << 30);
        stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data() + taken));
        stream.avail_in = static_cast<uInt>(part);
        taken += part;
        if (part == 0)
          break;
      }
      if (ended && inflateReset(&stream) != Z_OK)
        break;
      stream.next_out = reinterpret_cast<Bytef *>(buffer);
      stream.avail_out = sizeof buffer;
      const int code = inflate(&stream, Z_NO_FLUSH);
      ended = code == Z_STREAM_END;
      if (code != Z_OK && !ended)
        return makeError(ErrorCode::InvalidInput, "the compressed data in '", origin,
                         "' is damaged, make the file anew");
      const size_t made = sizeof buffer - stream.avail_out;
      if (static_cast<int64_t>(text.size() + made) > maxBytes)
        return makeError(ErrorCode::InvalidInput, "'", origin, "' unpacks to more than ", maxBytes,
                         " bytes, give a smaller file");
      text.append(buffer, made);
    }
  } catch (const std::bad_alloc &) {
    return makeError(ErrorCode::Io, "not enough memory to unpack '", origin, "', give a smaller file");
  }
  if (!ended)
    return makeError(ErrorCode::InvalidInput, "the compressed data in '", origin, "' is cut short, make the file anew");
  return text;
}
#endif

} // namespace sluice
