/* Wine 8 lacks bcryptprimitives.dll, whose one function sharp's library takes random bytes from. Never shipped. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG bytes);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T bytes) { return SystemFunction036(data, (ULONG)bytes); }
