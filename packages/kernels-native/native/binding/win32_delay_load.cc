// On Windows the addon names node.exe as the library it gets Node-API from. Where the program is called otherwise
// (Electron, a renamed node.exe) or Node is a library, this hook answers for it.
#if defined(_WIN32)
#include <windows.h>

#include <delayimp.h>

#include <cstring>

namespace {

FARPROC WINAPI find_host(unsigned event, DelayLoadInfo* info) {
  if (event != dliNotePreLoadLibrary || _stricmp(info->szDll, "node.exe") != 0) return nullptr;
  HMODULE host = GetModuleHandleW(L"libnode.dll");
  if (host == nullptr) host = GetModuleHandleW(nullptr);
  return reinterpret_cast<FARPROC>(host);
}

}  // namespace

extern "C" {
PfnDliHook __pfnDliNotifyHook2 = find_host;

/** Keeps the addon loaded for the life of the process, as -z nodelete does on Linux: its threads may outlive the worker
 *  that loaded it. */
BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, LPVOID) {
  HMODULE pinned = nullptr;
  if (reason == DLL_PROCESS_ATTACH)
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN, reinterpret_cast<LPCWSTR>(self), &pinned);
  return TRUE;
}
}
#endif
