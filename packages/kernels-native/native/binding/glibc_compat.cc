// Lets one binary run on every glibc from 2.28 on, though it is linked on a newer one. The names below got new versions
// after 2.28; hidden functions of the same names, which this addon and the C++ library linked into it find first, call
// the old versions. VD_GLIBC_COMPAT is defined where the C++ library is linked statically (tooling/build/addon).
#if defined(VD_GLIBC_COMPAT) && defined(__linux__)
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#define VD_HIDDEN __attribute__((visibility("hidden")))
/** The oldest version of glibc's symbols for this architecture, and what its struct stat had for a version. Source: glibc,
 *  sysdeps/unix/sysv/linux (shlib-versions, bits/stat.h). */
#if defined(__x86_64__)
#define VD_OLDEST "GLIBC_2.2.5"
constexpr int kStatVersion = 1;
#else
#define VD_OLDEST "GLIBC_2.17"
constexpr int kStatVersion = 0;
#endif
/** Declares `vd_old_<name>` as the version of `name` that every glibc for this architecture has. */
#define VD_OLD(name) __asm__(".symver vd_old_" #name "," #name "@" VD_OLDEST)

extern "C" {

// 2.29: without the error handling of SVID, the same numbers. Hidden by the version script: compilers know these names.
VD_OLD(exp);
VD_OLD(log);
VD_OLD(pow);
double vd_old_exp(double);
double vd_old_log(double);
double vd_old_pow(double, double);
double exp(double x) noexcept { return vd_old_exp(x); }
double log(double x) noexcept { return vd_old_log(x); }
double pow(double x, double y) noexcept { return vd_old_pow(x, y); }

// 2.33: before, <sys/stat.h> made calls of these with the version of the struct.
VD_OLD(__fxstat);
VD_OLD(__xstat);
VD_OLD(__lxstat);
int vd_old___fxstat(int, int, struct stat*);
int vd_old___xstat(int, const char*, struct stat*);
int vd_old___lxstat(int, const char*, struct stat*);
VD_HIDDEN int fstat(int file, struct stat* info) noexcept { return vd_old___fxstat(kStatVersion, file, info); }
VD_HIDDEN int fstat64(int file, struct stat64* info) noexcept { return fstat(file, reinterpret_cast<struct stat*>(info)); }
VD_HIDDEN int stat(const char* path, struct stat* info) noexcept { return vd_old___xstat(kStatVersion, path, info); }
VD_HIDDEN int lstat(const char* path, struct stat* info) noexcept { return vd_old___lxstat(kStatVersion, path, info); }

// 2.34: these moved from libdl and libpthread into libc.
VD_OLD(dlopen);
VD_OLD(dlsym);
VD_OLD(dlerror);
VD_OLD(pthread_create);
VD_OLD(pthread_join);
VD_OLD(pthread_detach);
VD_OLD(pthread_once);
VD_OLD(pthread_key_create);
VD_OLD(pthread_key_delete);
VD_OLD(pthread_setspecific);
VD_OLD(pthread_getspecific);
void* vd_old_dlopen(const char*, int);
void* vd_old_dlsym(void*, const char*);
char* vd_old_dlerror();
int vd_old_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int vd_old_pthread_join(pthread_t, void**);
int vd_old_pthread_detach(pthread_t);
int vd_old_pthread_once(pthread_once_t*, void (*)());
int vd_old_pthread_key_create(pthread_key_t*, void (*)(void*));
int vd_old_pthread_key_delete(pthread_key_t);
int vd_old_pthread_setspecific(pthread_key_t, uintptr_t);
void* vd_old_pthread_getspecific(pthread_key_t);
VD_HIDDEN void* dlopen(const char* path, int mode) noexcept { return vd_old_dlopen(path, mode); }
VD_HIDDEN void* dlsym(void* library, const char* name) noexcept { return vd_old_dlsym(library, name); }
VD_HIDDEN char* dlerror() noexcept { return vd_old_dlerror(); }
VD_HIDDEN int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* data) noexcept {
  return vd_old_pthread_create(thread, attributes, body, data);
}
VD_HIDDEN int pthread_join(pthread_t thread, void** result) { return vd_old_pthread_join(thread, result); }
VD_HIDDEN int pthread_detach(pthread_t thread) noexcept { return vd_old_pthread_detach(thread); }
VD_HIDDEN int pthread_once(pthread_once_t* once, void (*body)()) { return vd_old_pthread_once(once, body); }
VD_HIDDEN int pthread_key_create(pthread_key_t* key, void (*release)(void*)) noexcept { return vd_old_pthread_key_create(key, release); }
VD_HIDDEN int pthread_key_delete(pthread_key_t key) noexcept { return vd_old_pthread_key_delete(key); }
VD_HIDDEN int pthread_setspecific(pthread_key_t key, const void* value) noexcept {
  return vd_old_pthread_setspecific(key, reinterpret_cast<uintptr_t>(value));
}
VD_HIDDEN void* pthread_getspecific(pthread_key_t key) noexcept { return vd_old_pthread_getspecific(key); }

// 2.32: whether there is one thread only, for cheaper counting. Always the safe way.
VD_HIDDEN char __libc_single_threaded = 0;

// 2.36: what std::random_device of a newer C++ library calls.
VD_HIDDEN uint32_t arc4random() noexcept {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value))
    if (errno != EINTR) abort();
  return value;
}
}
#endif
