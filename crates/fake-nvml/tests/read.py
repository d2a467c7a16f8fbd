"""Reads a node through NVIDIA's Python binding and prints what it found as JSON, under the names of NVML's functions.

What the binding refuses with an error is printed as that error's number. tests/bindings/reading.rs does the same in Rust.
"""

import json
import sys

import pynvml as n

LIFES = (0, 1)
KINDS = (0, 1)


def told(act):
    """What a call answers, or the number of its error."""
    try:
        return act()
    except n.NVMLError as error:
        return {"error": error.value}


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def struct(value, *names):
    return {name: text(getattr(value, name)) for name in names}


def filled(kind, call, *names):
    """A call that fills a versioned struct."""

    def act():
        value = kind()
        call(value)
        return value

    return told(lambda: {name: plain(getattr(act_once, name)) for act_once in [act()] for name in names})


def plain(value):
    if isinstance(value, bytes):
        return list(value)
    if isinstance(value, int):
        return value
    return list(value)


def fabric(device):
    names = ("clusterUuid", "status", "cliqueId", "state", "healthMask")
    ref = n.byref
    v2 = filled(n.c_nvmlGpuFabricInfo_v2_t, lambda info: n.nvmlDeviceGetGpuFabricInfoV(device, ref(info)), *names)
    v3 = filled(
        n.c_nvmlGpuFabricInfo_v3_t,
        lambda info: n.nvmlDeviceGetGpuFabricInfoV(device, ref(info)),
        *names,
        "healthSummary",
    )
    return {"v2": v2, "v3": v3}


def platform(device):
    # The binding has these bytes as C texts, which end at a zero; the raw memory has them all.
    def act():
        info = n.c_nvmlPlatformInfo_v2_t()
        n.nvmlDeviceGetPlatformInfo(device, n.byref(info))
        return list(bytes(info)[4:41])

    return told(act)


def sram(device):
    names = [name for name, _ in n.c_nvmlEccSramErrorStatus_v1_t._fields_ if name != "version"]
    kind = n.c_nvmlEccSramErrorStatus_v1_t
    return filled(kind, lambda info: n.nvmlDeviceGetSramEccErrorStatus(device, n.byref(info)), *names)


def fields(device, wanted):
    def value(found):
        if found.nvmlReturn != n.NVML_SUCCESS:
            return {"error": found.nvmlReturn}
        union = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
        return [found.valueType, getattr(found.value, union[found.valueType])]

    return told(lambda: [value(found) for found in n.nvmlDeviceGetFieldValues(device, [tuple(pair) for pair in wanted])])


def link(device, index):
    # Of the other end NVML does not tell the board.
    pci = lambda info: struct(info, "busId", "busIdLegacy", "domain", "bus", "device", "pciDeviceId")
    return {
        "nvmlDeviceGetNvLinkState": told(lambda: n.nvmlDeviceGetNvLinkState(device, index)),
        "nvmlDeviceGetNvLinkVersion": told(lambda: n.nvmlDeviceGetNvLinkVersion(device, index)),
        "nvmlDeviceGetNvLinkRemoteDeviceType": told(lambda: n.nvmlDeviceGetNvLinkRemoteDeviceType(device, index)),
        "nvmlDeviceGetNvLinkRemotePciInfo_v2": told(lambda: pci(n.nvmlDeviceGetNvLinkRemotePciInfo(device, index))),
        "nvmlDeviceGetNvLinkErrorCounter": [
            told(lambda: n.nvmlDeviceGetNvLinkErrorCounter(device, index, counter)) for counter in range(4)
        ],
    }


def instance(device):
    attributes = ("multiprocessorCount", "gpuInstanceSliceCount", "computeInstanceSliceCount", "memorySizeMB")
    return {
        "nvmlDeviceGetName": told(lambda: n.nvmlDeviceGetName(device)),
        "nvmlDeviceGetUUID": told(lambda: n.nvmlDeviceGetUUID(device)),
        "nvmlDeviceGetGpuInstanceId": told(lambda: n.nvmlDeviceGetGpuInstanceId(device)),
        "nvmlDeviceGetComputeInstanceId": told(lambda: n.nvmlDeviceGetComputeInstanceId(device)),
        "nvmlDeviceGetAttributes_v2": told(lambda: struct(n.nvmlDeviceGetAttributes_v2(device), *attributes)),
        "nvmlDeviceGetMemoryInfo_v2": told(lambda: n.nvmlDeviceGetMemoryInfo(device, version=n.nvmlMemory_v2).total),
        "nvmlDeviceIsMigDeviceHandle": told(lambda: n.nvmlDeviceIsMigDeviceHandle(device).value),
        "nvmlDeviceGetTemperature": told(lambda: n.nvmlDeviceGetTemperature(device, 0)),
    }


def gpu(index, wanted):
    opened = told(lambda: n.nvmlDeviceGetHandleByIndex(index))
    if isinstance(opened, dict):
        return opened
    d = opened
    pci = ("busId", "busIdLegacy", "domain", "bus", "device", "pciDeviceId", "pciSubSystemId")
    memory = ("total", "reserved", "free", "used")
    rows = ("max", "high", "partial", "low", "none")
    found = {
        "nvmlDeviceGetIndex": told(lambda: n.nvmlDeviceGetIndex(d)),
        "nvmlDeviceGetName": told(lambda: n.nvmlDeviceGetName(d)),
        "nvmlDeviceGetUUID": told(lambda: n.nvmlDeviceGetUUID(d)),
        "nvmlDeviceGetSerial": told(lambda: n.nvmlDeviceGetSerial(d)),
        "nvmlDeviceGetBoardPartNumber": told(lambda: n.nvmlDeviceGetBoardPartNumber(d)),
        "nvmlDeviceGetVbiosVersion": told(lambda: n.nvmlDeviceGetVbiosVersion(d)),
        "nvmlDeviceGetInforomImageVersion": told(lambda: n.nvmlDeviceGetInforomImageVersion(d)),
        "nvmlDeviceGetGspFirmwareVersion": told(lambda: text(n.nvmlDeviceGetGspFirmwareVersion(d))),
        "nvmlDeviceGetArchitecture": told(lambda: n.nvmlDeviceGetArchitecture(d)),
        "nvmlDeviceGetCudaComputeCapability": told(lambda: list(n.nvmlDeviceGetCudaComputeCapability(d))),
        "nvmlDeviceGetMinorNumber": told(lambda: n.nvmlDeviceGetMinorNumber(d)),
        "nvmlDeviceGetModuleId": told(lambda: module(d)),
        "nvmlDeviceGetPciInfo_v3": told(lambda: struct(n.nvmlDeviceGetPciInfo_v3(d), *pci)),
        "nvmlDeviceGetClockInfo": [told(lambda: n.nvmlDeviceGetClockInfo(d, kind)) for kind in range(4)],
        "nvmlDeviceGetMaxClockInfo": [told(lambda: n.nvmlDeviceGetMaxClockInfo(d, kind)) for kind in range(4)],
        "nvmlDeviceGetCurrentClocksEventReasons": told(lambda: n.nvmlDeviceGetCurrentClocksEventReasons(d)),
        "nvmlDeviceGetPerformanceState": told(lambda: n.nvmlDeviceGetPerformanceState(d)),
        "nvmlDeviceGetUtilizationRates": told(lambda: struct(n.nvmlDeviceGetUtilizationRates(d), "gpu", "memory")),
        "nvmlDeviceGetTemperature": told(lambda: n.nvmlDeviceGetTemperature(d, 0)),
        "nvmlDeviceGetTemperatureV": told(lambda: n.nvmlDeviceGetTemperatureV(d, 0)),
        "nvmlDeviceGetTemperatureThreshold": [
            told(lambda: n.nvmlDeviceGetTemperatureThreshold(d, kind)) for kind in range(4)
        ],
        "nvmlDeviceGetMarginTemperature": told(lambda: n.nvmlDeviceGetMarginTemperature(d)),
        "nvmlDeviceGetPowerUsage": told(lambda: n.nvmlDeviceGetPowerUsage(d)),
        "nvmlDeviceGetPowerManagementLimit": told(lambda: n.nvmlDeviceGetPowerManagementLimit(d)),
        "nvmlDeviceGetPowerManagementDefaultLimit": told(lambda: n.nvmlDeviceGetPowerManagementDefaultLimit(d)),
        "nvmlDeviceGetPowerManagementLimitConstraints": told(
            lambda: list(n.nvmlDeviceGetPowerManagementLimitConstraints(d))
        ),
        "nvmlDeviceGetEnforcedPowerLimit": told(lambda: n.nvmlDeviceGetEnforcedPowerLimit(d)),
        "nvmlDeviceGetTotalEnergyConsumption": told(lambda: n.nvmlDeviceGetTotalEnergyConsumption(d)),
        "nvmlDeviceGetMemoryInfo_v2": told(lambda: struct(n.nvmlDeviceGetMemoryInfo(d, version=n.nvmlMemory_v2), *memory)),
        "nvmlDeviceGetCurrPcieLinkGeneration": told(lambda: n.nvmlDeviceGetCurrPcieLinkGeneration(d)),
        "nvmlDeviceGetCurrPcieLinkWidth": told(lambda: n.nvmlDeviceGetCurrPcieLinkWidth(d)),
        "nvmlDeviceGetMaxPcieLinkGeneration": told(lambda: n.nvmlDeviceGetMaxPcieLinkGeneration(d)),
        "nvmlDeviceGetMaxPcieLinkWidth": told(lambda: n.nvmlDeviceGetMaxPcieLinkWidth(d)),
        "nvmlDeviceGetPcieReplayCounter": told(lambda: n.nvmlDeviceGetPcieReplayCounter(d)),
        "nvmlDeviceGetFanSpeed_v2": told(lambda: n.nvmlDeviceGetFanSpeed_v2(d, 0)),
        "nvmlDeviceGetEccMode": told(lambda: list(n.nvmlDeviceGetEccMode(d))),
        "nvmlDeviceGetTotalEccErrors": [
            told(lambda: n.nvmlDeviceGetTotalEccErrors(d, kind, life)) for life in LIFES for kind in KINDS
        ],
        "nvmlDeviceGetMemoryErrorCounter": [
            told(lambda: n.nvmlDeviceGetMemoryErrorCounter(d, kind, life, place))
            for life in LIFES
            for kind in KINDS
            for place in range(8)
        ],
        "nvmlDeviceGetSramEccErrorStatus": sram(d),
        "nvmlDeviceGetRemappedRows": told(lambda: list(n.nvmlDeviceGetRemappedRows(d))),
        "nvmlDeviceGetRowRemapperHistogram": told(lambda: struct(n.nvmlDeviceGetRowRemapperHistogram(d), *rows)),
        "nvmlDeviceGetGpuFabricInfoV": fabric(d),
        "nvmlDeviceGetPlatformInfo": platform(d),
        "nvmlDeviceGetMigMode": told(lambda: list(n.nvmlDeviceGetMigMode(d))),
        "nvmlDeviceGetMaxMigDeviceCount": told(lambda: n.nvmlDeviceGetMaxMigDeviceCount(d)),
        "nvmlDeviceGetSupportedEventTypes": told(lambda: n.nvmlDeviceGetSupportedEventTypes(d)),
        "nvmlDeviceGetComputeRunningProcesses_v3": told(
            lambda: [[one.pid, one.usedGpuMemory] for one in n.nvmlDeviceGetComputeRunningProcesses_v3(d)]
        ),
        "links": [link(d, index) for index in range(19)],
        "fields": fields(d, wanted),
    }
    instances = [told(lambda: n.nvmlDeviceGetMigDeviceHandleByIndex(d, at)) for at in range(8)]
    found["instances"] = [one if isinstance(one, dict) else instance(one) for one in instances]
    return found


def module(device):
    value = n.c_uint()
    n.nvmlDeviceGetModuleId(device, n.byref(value))
    return value.value


def read(wanted):
    count = told(n.nvmlDeviceGetCount)
    system = {
        "nvmlSystemGetDriverVersion": told(n.nvmlSystemGetDriverVersion),
        "nvmlSystemGetNVMLVersion": told(n.nvmlSystemGetNVMLVersion),
        "nvmlSystemGetCudaDriverVersion_v2": told(n.nvmlSystemGetCudaDriverVersion_v2),
        "nvmlDeviceGetCount_v2": count,
    }
    gpus = [gpu(index, wanted) for index in range(count)] if isinstance(count, int) else []
    return {"system": system, "gpus": gpus}


def events(gpus, want, each_ms):
    """Registers for everything, says so, and tells what comes until there is as much as wanted, or a wait fails."""
    devices = {index: n.nvmlDeviceGetHandleByIndex(index) for index in gpus}
    made = n.nvmlEventSetCreate()
    for device in devices.values():
        n.nvmlDeviceRegisterEvents(device, n.nvmlDeviceGetSupportedEventTypes(device), made)
    print("registered", flush=True)
    come = []
    while len(come) < want:
        got = told(lambda: n.nvmlEventSetWait_v2(made, each_ms))
        if isinstance(got, dict):
            come.append(got)
            break
        at = n.nvmlDeviceGetIndex(got.device) if told(lambda: n.nvmlDeviceGetIndex(got.device)) in gpus else None
        come.append([at, got.eventType, got.eventData])
    n.nvmlEventSetFree(made)
    return come


def main():
    order = json.loads(sys.argv[1])
    opened = told(n.nvmlInit)
    if opened is not None:
        print(json.dumps({"init": opened}))
        return
    if order["do"] == "read":
        print(json.dumps(read(order["fields"])))
    elif order["do"] == "events":
        print(json.dumps(events(order["gpus"], order["want"], order["each_ms"])))
    elif order["do"] == "hold":
        n.nvmlDeviceGetHandleByIndex(order["gpu"])
        print("holding", flush=True)
        sys.stdin.readline()
    elif order["do"] == "names":
        device = n.nvmlDeviceGetHandleByIndex(0)
        ids = [getattr(n, name) for name in order["names"]]
        print(json.dumps(fields(device, [(id, 0) for id in ids])))
    elif order["do"] == "symbols":
        called = open(n.__file__, encoding="utf-8").read()
        missing = [name for name in order["names"] if not hasattr(n.nvmlLib, name)]
        strangers = [name for name in order["names"] if f'"{name}"' not in called]
        print(json.dumps({"missing": missing, "strangers": strangers}))
    n.nvmlShutdown()


main()
