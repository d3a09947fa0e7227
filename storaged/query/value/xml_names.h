/* Which characters XML names are made of: for xs:NCName and for \i and \c of regular expressions. */
#ifndef SIRIX_QUERY_VALUE_XML_NAMES_H
#define SIRIX_QUERY_VALUE_XML_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sirix_code_points {
    uint32_t first;
    uint32_t last;
};

/* NameStartChar of XML 1.0, fifth edition, the colon left out. */
static const struct sirix_code_points sirix_xml_name_starts[] = {
    {'A', 'Z'},       {'_', '_'},       {'a', 'z'},       {0xc0, 0xd6},     {0xd8, 0xf6},
    {0xf8, 0x2ff},    {0x370, 0x37d},   {0x37f, 0x1fff},  {0x200c, 0x200d}, {0x2070, 0x218f},
    {0x2c00, 0x2fef}, {0x3001, 0xd7ff}, {0xf900, 0xfdcf}, {0xfdf0, 0xfffd}, {0x10000, 0xeffff},
};

/* What NameChar has besides. */
static const struct sirix_code_points sirix_xml_name_others[] = {
    {'-', '.'}, {'0', '9'}, {0xb7, 0xb7}, {0x300, 0x36f}, {0x203f, 0x2040},
};

static inline bool sirix_xml_is_among(const struct sirix_code_points *ranges, size_t count,
                                      uint32_t code_point)
{
    for (size_t i = 0; i < count; i++) {
        if (code_point >= ranges[i].first && code_point <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

static inline bool sirix_xml_is_name_start(uint32_t code_point)
{
    return sirix_xml_is_among(sirix_xml_name_starts,
                              sizeof(sirix_xml_name_starts) / sizeof(sirix_xml_name_starts[0]),
                              code_point);
}

static inline bool sirix_xml_is_name_char(uint32_t code_point)
{
    return sirix_xml_is_name_start(code_point) ||
           sirix_xml_is_among(sirix_xml_name_others,
                              sizeof(sirix_xml_name_others) / sizeof(sirix_xml_name_others[0]),
                              code_point);
}

#endif
