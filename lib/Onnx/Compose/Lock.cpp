//===- Lock.cpp - Models pinned by their content --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Lock.h"

#include "../MappedFile.h"
#include "lib/Runtime/Sha256.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Text.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace sluice::compose {
namespace {

constexpr int64_t kSchema = 1;
namespace fs = std::filesystem;

Expected<std::string> hashFile(const FileHandle &root, const std::string &location, const FileMention &mention) {
  SLUICE_ASSIGN_OR_RETURN(OpenedFile file, openBeneath(root, location, mention));
  SLUICE_ASSIGN_OR_RETURN(auto mapping, MappedFile::map(file.handle, file.size, location));
  return runtime::sha256Hex(mapping->bytes().data(), mapping->bytes().size());
}

Expected<Pins> readPins(const std::string &lock) {
  SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(lock));
  const JsonReader root(json, lock + ":");
  SLUICE_RETURN_IF_ERROR(root.onlyKeys({"schema", "services"}));
  SLUICE_ASSIGN_OR_RETURN(int64_t schema, root.integer("schema"));
  if (schema != kSchema)
    return makeError(ErrorCode::Unsupported, "the lock file has schema ", schema, ", in '", lock,
                     "', and this version reads only schema ", kSchema, ", use a newer version of Sluice");
  SLUICE_ASSIGN_OR_RETURN(JsonReader services, root.member("services"));
  Pins pins;
  for (const auto &[id, value] : services.json().items()) {
    SLUICE_ASSIGN_OR_RETURN(JsonReader service, services.member(id));
    SLUICE_RETURN_IF_ERROR(service.onlyKeys({"model", "sha256", "data"}));
    Pin &pin = pins[id];
    SLUICE_ASSIGN_OR_RETURN(pin.model, service.string("model"));
    SLUICE_ASSIGN_OR_RETURN(pin.sha256, service.string("sha256"));
    if (!service.has("data"))
      continue;
    SLUICE_ASSIGN_OR_RETURN(JsonReader data, service.member("data"));
    for (const auto &[file, hash] : data.json().items()) {
      SLUICE_ASSIGN_OR_RETURN(pin.data[file], data.string(file));
    }
  }
  return pins;
}

} // namespace

Expected<Pins> hashServices(const Pipeline &pipeline, const std::vector<Service> &services) {
  SLUICE_ASSIGN_OR_RETURN(FileHandle root, openDirectoryOf(pipeline.path));
  Pins pins;
  for (const Service &service : services) {
    if (service.file.empty())
      continue;
    const std::string owner = concat("service '", service.id, "'");
    Pin &pin = pins[service.id];
    pin.model = service.file;
    SLUICE_ASSIGN_OR_RETURN(pin.sha256, hashFile(root, service.file, {"model", owner, "pipeline"}));
    for (const std::string &data : service.model.dataFiles()) {
      SLUICE_ASSIGN_OR_RETURN(pin.data[data], hashFile(root, (fs::path(service.file).parent_path() / data).string(),
                                                       {"external data", owner, "pipeline"}));
    }
  }
  return pins;
}

Status checkPins(const std::string &lock, const std::string &pipeline, const Pins &pins) {
  std::error_code ignored;
  if (!fs::exists(lock, ignored))
    return {};
  SLUICE_ASSIGN_OR_RETURN(Pins locked, readPins(lock));
  const std::string accept = concat("'sluice compose ", pipeline, " --update'");
  auto changed = [&](const std::string &what, const std::string &is, const std::string &was) {
    return makeError(ErrorCode::InvalidInput, what, " has changed: its SHA-256 is ", is, ", and '", lock, "' has ",
                     excerpt(was), ", restore the old file, or accept the change with ", accept);
  };
  for (const auto &[id, pin] : pins) {
    auto known = locked.find(id);
    if (known == locked.end() || known->second.model != pin.model)
      return makeError(ErrorCode::InvalidInput, "model '", excerpt(pin.model), "' of service '", id,
                       "' is not pinned, in '", lock, "', pin it with ", accept);
    if (known->second.sha256 != pin.sha256)
      return changed(concat("model '", excerpt(pin.model), "' of service '", id, "'"), pin.sha256,
                     known->second.sha256);
    for (const auto &[file, hash] : pin.data) {
      auto data = known->second.data.find(file);
      if (data == known->second.data.end())
        return makeError(ErrorCode::InvalidInput, "external data '", excerpt(file), "' of service '", id,
                         "' is not pinned, in '", lock, "', pin it with ", accept);
      if (data->second != hash)
        return changed(concat("external data '", excerpt(file), "' of service '", id, "'"), hash, data->second);
    }
  }
  return {};
}

Status writePins(const std::string &lock, const Pins &pins) {
  Json json{{"schema", kSchema}, {"services", Json::object()}};
  for (const auto &[id, pin] : pins) {
    Json &entry = json["services"][id] = {{"model", pin.model}, {"sha256", pin.sha256}};
    if (!pin.data.empty())
      entry["data"] = pin.data;
  }
  return writeFileAtomically(lock, jsonText(json, 1) + "\n");
}

} // namespace sluice::compose
