//===- Png.cpp - PNG and WebP by libpng and libwebp -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Images.h"

#include <algorithm>
#include <array>
#include <png.h>
#include <string_view>
#include <webp/decode.h>

namespace sluice::images {

namespace {

uint32_t bigEndian(const uint8_t *from) {
  return uint32_t(from[0]) << 24 | uint32_t(from[1]) << 16 | uint32_t(from[2]) << 8 | from[3];
}

/// The file with the chunks that its pixels are made of. libpng would expand each compressed text to 8 MB before the
/// caller sees the extents, and would convert pixels by colour profiles, which ONNX's reference ignores.
std::vector<uint8_t> withoutOtherChunks(Bytes bytes) {
  constexpr size_t kSignature = 8, kLengthAndType = 8, kChecksum = 4;
  constexpr std::array<std::string_view, 5> kKept{"IHDR", "PLTE", "tRNS", "IDAT", "IEND"};
  std::vector<uint8_t> kept(bytes.begin(), bytes.begin() + kSignature);
  for (size_t at = kSignature; bytes.size() - at >= kLengthAndType + kChecksum;) {
    const size_t length = bigEndian(&bytes[at]);
    if (length > bytes.size() - at - kLengthAndType - kChecksum)
      break;
    const Bytes chunk = bytes.subspan(at, kLengthAndType + length + kChecksum);
    const std::string_view type(reinterpret_cast<const char *>(&chunk[4]), 4);
    if (std::find(kKept.begin(), kKept.end(), type) != kKept.end())
      kept.insert(kept.end(), chunk.begin(), chunk.end());
    at += chunk.size();
  }
  return kept;
}

} // namespace

void decodePng(Bytes bytes, Image &image) {
  // libpng's simplified interface leaves no jumps to its caller.
  struct Reader {
    Reader() { png.version = PNG_IMAGE_VERSION; }
    Reader(const Reader &) = delete;
    ~Reader() { png_image_free(&png); }
    png_image png{};
  } reader;
  png_image &png = reader.png;
  const std::vector<uint8_t> kept = withoutOtherChunks(bytes);
  if (!png_image_begin_read_from_memory(&png, kept.data(), kept.size()))
    throw Unsound(png.message);
  image.start(png.height, png.width);
  const bool hasAlpha = png.format & PNG_FORMAT_FLAG_ALPHA;
  png.format = hasAlpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  // Without this flag, libpng takes samples of 16 bits for linear light and brightens them.
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  std::vector<uint8_t> pixels(PNG_IMAGE_SIZE(png));
  if (!png_image_finish_read(&png, nullptr, pixels.data(), 0, nullptr))
    throw Unsound(png.message);
  // Transparency is left out, as Pillow leaves it to its caller.
  const size_t channels = hasAlpha ? 4 : 3;
  for (size_t i = 0; i < image.pixels.size() / 3; ++i)
    std::copy_n(&pixels[i * channels], 3, &image.pixels[i * 3]);
}

void decodeWebp(Bytes bytes, Image &image) {
  int width = 0, height = 0;
  if (!WebPGetInfo(bytes.data(), bytes.size(), &width, &height))
    throw Unsound("its header is wrong");
  image.start(height, width);
  if (!WebPDecodeRGBInto(bytes.data(), bytes.size(), image.pixels.data(), image.pixels.size(), width * 3))
    throw Unsound("its data is damaged");
}

} // namespace sluice::images
