/* What a module says of itself: its beginning, its end and its parameters. */
#ifndef CCLAB_LINUX_MODULE_H
#define CCLAB_LINUX_MODULE_H

#include <linux/kernel.h>

struct module;
#define THIS_MODULE ((struct module *)0)
#define try_module_get(module) 1
#define module_put(module) ((void)(module))
#define EXPORT_SYMBOL(name) extern __typeof__(name) name
#define EXPORT_SYMBOL_GPL(name) EXPORT_SYMBOL(name)

/* The functions that begin and end it; the file says each once. */
#define module_init(begin) \
	int cclab_module_init(void);                                           \
	int cclab_module_init(void) { return begin(); }
#define module_exit(end) \
	void cclab_module_exit(void);                                          \
	void cclab_module_exit(void) { end(); }
#define late_initcall(begin) module_init(begin)
#define device_initcall(begin) module_init(begin)
#define subsys_initcall(begin) module_init(begin)

/* A word of the module that needs a semicolon and means nothing here. */
#define cclab_word extern int cclab_word_
#define MODULE_LICENSE(text) cclab_word
#define MODULE_AUTHOR(text) cclab_word
#define MODULE_DESCRIPTION(text) cclab_word
#define MODULE_VERSION(text) cclab_word
#define MODULE_ALIAS(text) cclab_word
#define MODULE_ALIAS_TCP_CC(text) cclab_word
#define MODULE_INFO(tag, text) cclab_word
#define MODULE_SOFTDEP(text) cclab_word
#define MODULE_IMPORT_NS(name) cclab_word

struct kernel_param;
struct kernel_param_ops {
	unsigned int flags;
	int (*set)(const char *text, const struct kernel_param *param);
	int (*get)(char *text, const struct kernel_param *param);
	void (*free)(void *place);
};
struct kernel_param {
	const char *name;
	const char *type;
	const struct kernel_param_ops *ops;
	void *arg;
	long cclab_line;
};
struct cclab_meaning {
	const char *name;
	const char *text;
};

/* The linker lays them side by side: they are found by their section. */
#define cclab_in(section_) __attribute__((used, aligned(8), section(section_)))
#define cclab_param(name_, type_, ops_, place)                                 \
	static const struct kernel_param __PASTE(cclab_param_, name_)          \
		cclab_in("cclab_params") = { #name_, type_, ops_, place, __LINE__ }
#define MODULE_PARM_DESC(name_, text_)                                         \
	static const struct cclab_meaning __PASTE(cclab_meaning_, name_)       \
		cclab_in("cclab_meanings") = { #name_, text_ }

/* A parameter that the file reads nowhere is still one. */
#define module_param_named(name, place, type, mode)                            \
	static inline __maybe_unused cclab_param_type_##type *                 \
	__PASTE(cclab_check_, name)(void)                                      \
	{                                                                      \
		return &(place);                                               \
	}                                                                      \
	cclab_param(name, #type, &param_ops_##type, &(place))
#define module_param(name, type, mode) module_param_named(name, name, type, mode)
#define module_param_cb(name, ops, place, mode) cclab_param(name, "", ops, place)
#define module_param_unsafe(name, type, mode) module_param(name, type, mode)
#define core_param(name, place, type, mode) module_param_named(name, place, type, mode)

#define cclab_params_of(name, ctype)                                           \
	typedef ctype cclab_param_type_##name;                                 \
	extern const struct kernel_param_ops param_ops_##name;                 \
	int param_set_##name(const char *text, const struct kernel_param *param); \
	int param_get_##name(char *text, const struct kernel_param *param);
cclab_params_of(byte, unsigned char)
cclab_params_of(short, short)
cclab_params_of(ushort, unsigned short)
cclab_params_of(int, int)
cclab_params_of(uint, unsigned int)
cclab_params_of(hexint, unsigned int)
cclab_params_of(long, long)
cclab_params_of(ulong, unsigned long)
cclab_params_of(ullong, unsigned long long)
cclab_params_of(bool, bool)
cclab_params_of(invbool, bool)
cclab_params_of(charp, char *)
int param_set_uint_minmax(const char *text, const struct kernel_param *param,
			  unsigned int least, unsigned int most);

/* Lists of functions that BPF programs may call: there are none here. */
#define BTF_KFUNCS_START(name) static const int name = 0;
#define BTF_KFUNCS_END(name)
#define BTF_SET8_START(name) BTF_KFUNCS_START(name)
#define BTF_SET8_END(name)
#define BTF_ID_FLAGS(kind, name, flags...)
#define BTF_ID(kind, name)
#define __bpf_kfunc_start_defs()
#define __bpf_kfunc_end_defs()
struct btf_kfunc_id_set {
	struct module *owner;
	const int *set;
};
#define BPF_PROG_TYPE_STRUCT_OPS 27
#define register_btf_kfunc_id_set(kind, ids) ((void)(ids), 0)

#endif
