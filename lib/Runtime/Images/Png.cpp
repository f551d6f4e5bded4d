//===- Png.cpp - PNG and WebP by libpng and libwebp -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Images.h"

#include <algorithm>
#include <png.h>
#include <webp/decode.h>

namespace sluice::images {

void decodePng(Bytes bytes, Image &image) {
  // libpng's simplified interface leaves no jumps to its caller.
  struct Reader {
    Reader() { png.version = PNG_IMAGE_VERSION; }
    Reader(const Reader &) = delete;
    ~Reader() { png_image_free(&png); }
    png_image png{};
  } reader;
  png_image &png = reader.png;
  if (!png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()))
    throw Unsound(png.message);
  image.start(png.height, png.width);
  const bool hasAlpha = png.format & PNG_FORMAT_FLAG_ALPHA;
  png.format = hasAlpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
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
