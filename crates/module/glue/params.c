/* The parameters of a module, its messages and its memory. */

#include "cclab.h"

/* Of the C library. */
void *calloc(size_t count, size_t size);
void free(void *memory);
unsigned long long strtoull(const char *text, char **end, int base);
long long strtoll(const char *text, char **end, int base);
int *__errno_location(void);
int vsnprintf(char *to, size_t size, const char *format, __builtin_va_list told);

int cclab_print(const char *format, ...)
{
	char text[1024];
	__builtin_va_list told;
	int length;

	__builtin_va_start(told, format);
	length = vsnprintf(text, sizeof(text), format, told);
	__builtin_va_end(told);
	if (length > 0 && cclab_host.print)
		cclab_host.print(cclab_host.file, text, min_t(size_t, length, sizeof(text) - 1));
	return length;
}

void *kmalloc(size_t size, gfp_t how)
{
	/* What the kernel leaves as it was is zero: a run is the same each time. */
	return calloc(1, size);
}

void *kcalloc(size_t count, size_t size, gfp_t how)
{
	return calloc(count, size);
}

void kfree(const void *memory)
{
	free((void *)memory);
}

/* Reads `text` as a whole number between `least` and `most`. */
static int read_signed(const char *text, unsigned int base, s64 least, s64 most, s64 *value)
{
	char *end;

	*__errno_location() = 0;
	*value = strtoll(text, &end, base);
	if (end == text || *end)
		return -EINVAL;
	return *__errno_location() || *value < least || *value > most ? -ERANGE : 0;
}

static int read_unsigned(const char *text, unsigned int base, u64 most, u64 *value)
{
	char *end;

	*__errno_location() = 0;
	*value = strtoull(text, &end, base);
	if (end == text || *end)
		return -EINVAL;
	return *text == '-' || *__errno_location() || *value > most ? -ERANGE : 0;
}

int kstrtoint(const char *text, unsigned int base, int *to)
{
	s64 value;
	int wrong = read_signed(text, base, INT_MIN, INT_MAX, &value);

	if (!wrong)
		*to = value;
	return wrong;
}

int kstrtouint(const char *text, unsigned int base, unsigned int *to)
{
	u64 value;
	int wrong = read_unsigned(text, base, UINT_MAX, &value);

	if (!wrong)
		*to = value;
	return wrong;
}

int kstrtobool(const char *text, bool *to)
{
	switch (*text) {
	case '1': case 'y': case 'Y': case 't': case 'T':
		*to = true;
		return 0;
	case '0': case 'n': case 'N': case 'f': case 'F':
		*to = false;
		return 0;
	default:
		return -EINVAL;
	}
}

#define ROOM 32
#define OPS(name)                                                              \
	const struct kernel_param_ops param_ops_##name = {                     \
		.set = param_set_##name, .get = param_get_##name,              \
	};
#define NUMBER(name, ctype, wide, format, read, limits...)                     \
	int param_set_##name(const char *text, const struct kernel_param *param) \
	{                                                                      \
		wide value;                                                    \
		int wrong = read(text, 0, limits, &value);                     \
		if (!wrong)                                                    \
			*(ctype *)param->arg = value;                          \
		return wrong;                                                  \
	}                                                                      \
	int param_get_##name(char *text, const struct kernel_param *param)     \
	{                                                                      \
		return snprintf(text, ROOM, format, (wide)*(ctype *)param->arg); \
	}                                                                      \
	OPS(name)
NUMBER(byte, u8, u64, "%llu", read_unsigned, U8_MAX)
NUMBER(short, short, s64, "%lld", read_signed, S16_MIN, S16_MAX)
NUMBER(ushort, u16, u64, "%llu", read_unsigned, U16_MAX)
NUMBER(int, int, s64, "%lld", read_signed, INT_MIN, INT_MAX)
NUMBER(uint, uint, u64, "%llu", read_unsigned, UINT_MAX)
NUMBER(hexint, uint, u64, "%llu", read_unsigned, UINT_MAX)
NUMBER(long, long, s64, "%lld", read_signed, LONG_MIN, LONG_MAX)
NUMBER(ulong, ulong, u64, "%llu", read_unsigned, ULONG_MAX)
NUMBER(ullong, u64, u64, "%llu", read_unsigned, U64_MAX)

int param_set_uint_minmax(const char *text, const struct kernel_param *param,
			  unsigned int least, unsigned int most)
{
	unsigned int value;
	int wrong = kstrtouint(text, 0, &value);

	if (!wrong && (value < least || value > most))
		wrong = -EINVAL;
	if (!wrong)
		*(unsigned int *)param->arg = value;
	return wrong;
}

int param_set_bool(const char *text, const struct kernel_param *param)
{
	return kstrtobool(text, param->arg);
}

int param_get_bool(char *text, const struct kernel_param *param)
{
	return snprintf(text, ROOM, "%d", *(bool *)param->arg);
}
OPS(bool)

int param_set_invbool(const char *text, const struct kernel_param *param)
{
	bool value;
	int wrong = kstrtobool(text, &value);

	if (!wrong)
		*(bool *)param->arg = !value;
	return wrong;
}

int param_get_invbool(char *text, const struct kernel_param *param)
{
	return snprintf(text, ROOM, "%d", !*(bool *)param->arg);
}
OPS(invbool)

/* A study gives numbers only. */
int param_set_charp(const char *text, const struct kernel_param *param)
{
	return -EINVAL;
}

int param_get_charp(char *text, const struct kernel_param *param)
{
	return snprintf(text, ROOM, "%s", *(char **)param->arg ?: "");
}
OPS(charp)

/* The parameters, which the linker laid side by side. */
#define side_by_side(type, section)                                            \
	extern const struct type __start_##section[] __attribute__((weak, visibility("hidden"))); \
	extern const struct type __stop_##section[] __attribute__((weak, visibility("hidden")));
side_by_side(kernel_param, cclab_params)
side_by_side(cclab_meaning, cclab_meanings)

cclab_exported u32 cclab_params_count(void)
{
	return __stop_cclab_params - __start_cclab_params;
}

static const struct kernel_param *param_at(u32 index)
{
	return &__start_cclab_params[index];
}

/* The name of the parameter at `index`, its type and what is said of it, which may be empty, and the
 * line of the file, as the compiler orders them as it likes.
 */
cclab_exported const char *cclab_param_name(u32 index, const char **type, const char **meaning,
					    long *line)
{
	const struct kernel_param *param = param_at(index);

	*type = param->type;
	*line = param->cclab_line;
	*meaning = "";
	for (const struct cclab_meaning *m = __start_cclab_meanings; m < __stop_cclab_meanings; m++)
		if (strcmp(m->name, param->name) == 0)
			*meaning = m->text;
	return param->name;
}

/* Sets the parameter at `index`; below zero: it does not take `text`. */
cclab_exported int cclab_param_set(u32 index, const char *text)
{
	const struct kernel_param *param = param_at(index);

	return param->ops->set ? param->ops->set(text, param) : -EPERM;
}

/* Writes the value of the parameter at `index` as text; `room` has 4,096 bytes, as the kernel's. */
cclab_exported int cclab_param_get(u32 index, char *room)
{
	const struct kernel_param *param = param_at(index);

	return param->ops->get ? param->ops->get(room, param) : -EPERM;
}
