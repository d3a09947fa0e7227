/* The descriptor set of the build, byte by byte; see descriptors.h. */
    .section .rodata
    .balign 16
    .global sirix_proto_descriptors
    .type sirix_proto_descriptors, @object
sirix_proto_descriptors:
    .incbin SIRIX_DESCRIPTORS_FILE
    .size sirix_proto_descriptors, . - sirix_proto_descriptors
    .global sirix_proto_descriptors_end
    .type sirix_proto_descriptors_end, @object
sirix_proto_descriptors_end:
    .byte 0
    .size sirix_proto_descriptors_end, 1
    .section .note.GNU-stack, "", @progbits
