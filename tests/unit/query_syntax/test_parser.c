/*
 * What texts mean and what is wrong with them: tables of queries with their trees (dump.h), and of
 * mistakes with code, place and sentence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "dump.h"
#include "query/syntax/parser.h"

enum { DUMP_BYTES_MAX = 1024 * 1024 };

struct tree_case {
    const char *query;
    const char *tree;
};

struct error_case {
    const char *query;
    const char *code;
    uint32_t line;
    uint32_t column;
    const char *text;
};

static const struct tree_case trees[] = {
    {"1", "1"},
    {"``[a `{1, \"x\"}` b`{}`]`` || 2",
     "(concat (concat \"a \" (call fn:string-join (sequence 1 \"x\") \" \") \" b\" "
     "(call fn:string-join (sequence) \" \") \"\") 2)"},
    {"``[]``, ``[ `{ ``[`{1}`]`` }` ]``",
     "(sequence (concat \"\") (concat \" \" (call fn:string-join (concat \"\" (call "
     "fn:string-join 1 \" \") \"\") \" \") \" \"))"},
    {"(# ex:a b #) (# ex:c #) { 1 }", "1"},
    {"$a is $b, $a << $b, $a >> $b",
     "(sequence (compare is $a $b) (compare << $a $b) (compare >> $a $b))"},
    {"(1, 2.5, 1e3, .5, 5., 01)", "(sequence 1 2.5 1e3 .5 5. 01)"},
    {"()", "(sequence)"},
    {"\"a\\n\\u00e9\\ud83d\\ude00\"\"b\"", "\"a\né😀\"b\""},
    {"'a\\n''b'", "\"a\\n'b\""},
    {"true, false, null, true(), null()", "(sequence true false null (call true) (call null))"},
    {"$a.b.\"c d\".$k.(1+1).$$",
     "(field (field (field (field (field $a \"b\") \"c d\") $k) (add 1 + 1)) $$)"},
    {"$a[0], $a[-1], $a[1:3], $a[::-1], $a[:2], $a[1::], $a[:], $a[]",
     "(sequence (predicate $a 0) (predicate $a (unary - 1)) (slice $a 1 3 _) (slice "
     "$a _ _ (unary - 1)) (slice $a _ 2 _) (slice $a 1 _ _) (slice $a _ _ _) (unbox "
     "$a))"},
    {"$a[[1]], $a[[1,2][0]], $a[[$b[[2]]]], $a[[$b[0]]], $a[ [1] ], $a[[]]",
     "(sequence (member $a 1) (predicate $a (predicate (array (sequence 1 2)) 0)) "
     "(member $a (member $b 2)) (member $a (predicate $b 0)) (predicate $a (array "
     "1)) (predicate $a (array)))"},
    {"$a[? $$.x gt 1], $a[?2]",
     "(sequence (filter $a (compare gt (field $$ \"x\") 1)) (filter $a 2))"},
    {"$a{b,\"c\",$d,(1)}", "(project $a \"b\" \"c\" $d 1)"},
    {"$a=>>b=>>\"c d\", $a//user[duplicate], //x",
     "(sequence (descendant (descendant $a \"b\") \"c d\") (predicate (descendant "
     "$a \"user\") (name duplicate)) (descendant $$ \"x\"))"},
    {"$a(\"f\"), $a(), $f(1,?)",
     "(sequence (dynamic_call $a \"f\") (dynamic_call $a) (dynamic_call $f 1 ?))"},
    {"$m?a?1?*?(1)?\"x\"?$k, ?k",
     "(sequence (lookup (lookup (lookup (lookup (lookup (lookup $m \"a\") 1) _) 1) "
     "\"x\") $k) (lookup _ \"k\"))"},
    {"1 + 2 * 3 - 4", "(add 1 + (multiply 2 * 3) - 4)"},
    {"- -1, ---$a, +1", "(sequence (unary + 1) (unary - $a) (unary + 1))"},
    {"1 to 3, 1 || \"a\" || 2", "(sequence (range 1 3) (concat 1 \"a\" 2))"},
    {"1 eq 2 and 3 = 4 or not 5 lt 6, not(1), not not true",
     "(sequence (or (and (compare eq 1 2) (compare = 3 4)) (not (compare lt 5 6))) "
     "(call not 1) (not (not true)))"},
    {"$a union $b | $c, $a intersect $b except $c",
     "(sequence (union $a $b $c) (intersect $a intersect $b except $c))"},
    {"1 instance of xs:integer?, $a treat as object()+, \"1\" castable as integer?, "
     "$x cast as xs:float treat as xs:float",
     "(sequence (instance_of as xs:integer? 1) (treat_as as object+ $a) "
     "(castable_as as integer? \"1\") (treat_as as xs:float (cast_as as xs:float "
     "$x)))"},
    {"$a ! $b ! ($$ + 1), -2!(.+1)",
     "(sequence (map $a $b (add $$ + 1)) (unary - (map 2 (add $$ + 1))))"},
    {"-1 => abs(), $a => $f(1) => (g#1)()",
     "(sequence (call abs (unary - 1)) (dynamic_call (function_name g#1) "
     "(dynamic_call $f $a 1)))"},
    {"if (1) then 2 else if (3) then 4 else 5", "(if 1 2 3 4 5)"},
    {"switch (1) case 1 case 2 return 3 default return 4", "(switch 1 (case 1 2 3) 4)"},
    {"typeswitch ($x) case $a as boolean+ | array* return 1 case () return 2 "
     "default $d return $d",
     "(typeswitch $x (type_case $a boolean+|array* 1) (type_case empty 2) "
     "(type_case $d $d))"},
    {"some $a as integer in (1,2), $b in $a satisfies $a eq $b",
     "(some (for $a as integer (sequence 1 2)) (for $b $a) (compare eq $a $b))"},
    {"every $x in () satisfies false", "(every (for $x (sequence)) false)"},
    {"try { 1 div 0 } catch err:FOAR0001 | *:x | Q{u}* | e:* { 2 } catch * { "
     "$err:code }",
     "(try (multiply 1 div 0) (catch err:FOAR0001|*:x|Q{u}*|e:* 2) (catch *:* "
     "$err:code))"},
    {"for $x as integer allowing empty at $i in 1 to 3, $y in $x let $z := $x, $w "
     "as item* := 1 where $x group by $k := $x, $y as string := \"a\" collation "
     "\"c\" stable order by $x descending empty least, $y empty greatest collation "
     "\"d\" count $c return $c",
     "(flwor (for $x at $i as integer allowing-empty (range 1 3)) (for $y $x) (let "
     "$z $x) (let $w as item* 1) (where $x) (group (group_key $k $x) (group_key $y "
     "as string \"c\" \"a\")) (order stable (order_key descending empty-least $x) "
     "(order_key empty-greatest \"d\" $y)) (count $c) $c)"},
    {"from $x in 1 select $x", "(flwor (for $x 1) $x)"},
    {"for sliding window $w as item+ in 1 start $s at $p previous $q next $n when "
     "true only end $e when false return $w",
     "(flwor (window $w as item+ sliding 1 (window_edge $s at $p previous $q next "
     "$n true) (window_edge $e only false)) $w)"},
    {"for tumbling window $w in 1 start when true return $w",
     "(flwor (window $w 1 (window_edge true) _) $w)"},
    {"{ \"a\" : 1, b : 2, $k : 3, (concat(\"a\",\"b\")) : 4, $o, foo:true }",
     "(object (pair \"a\" 1) (pair \"b\" 2) (pair $k 3) (pair (call concat \"a\" "
     "\"b\") 4) $o (pair \"foo\" true))"},
    {"{| $a, $b |}, {| |}, {}, {{ \"a\" : 1 }, $o}",
     "(sequence (merge (sequence $a $b)) (merge (sequence)) (object) (object "
     "(object (pair \"a\" 1)) $o))"},
    {"{ for $d in 1 return { $d : 1 } }", "(object (flwor (for $d 1) (object (pair $d 1))))"},
    {"[1, =(2 to 3), []], [], [= 1]", "(sequence (array 1 (range 2 3) (array)) (array) (array 1))"},
    {"map { 1 : 2, \"a\" : () }, map{}, array { 1, 2 }, array{}",
     "(sequence (object (pair 1 2) (pair \"a\" (sequence))) (object) (array "
     "(sequence 1 2)) (array (sequence)))"},
    {"function($a, $b as item()*) as integer { $a }, function() {}, "
     "%an:assignable function() { 1 }",
     "(sequence (function $a $b as item* as integer $a) (function (sequence)) "
     "(function assignable 1))"},
    {"fn:abs#1, abs(?), Q{http://x}f(1), local:f()",
     "(sequence (function_name fn:abs#1) (call abs ?) (call Q{http://x}f 1) (call "
     "local:f))"},
    {"text { 1, \"a\" }, unordered { 1 }, ordered { 2 }",
     "(sequence (call xs:untypedAtomic (call fn:string-join (sequence 1 \"a\") \" "
     "\")) 1 2)"},
    {"insert json { \"a\" : 1 } into $o, insert json \"a\" : 1, b : 2 into $o, "
     "insert json 5 into $a at position 2",
     "(sequence (insert (object (pair \"a\" 1)) $o _) (insert (object (pair \"a\" "
     "1) (pair \"b\" 2)) $o _) (insert 5 $a 2))"},
    {"append json (1,2) into $a, delete json $o.a, replace json value of $o.a with "
     "1, replace value of json $a[0] with 2, rename json $o.a as \"b\"",
     "(sequence (append (sequence 1 2) $a) (delete (field $o \"a\")) (replace "
     "(field $o \"a\") 1) (replace (predicate $a 0) 2) (rename (field $o \"a\") "
     "\"b\"))"},
    {"copy $a := 1, $b := 2 modify (delete json $a.x) return $a",
     "(copy (let $a 1) (let $b 2) (delete (field $a \"x\")) $a)"},
    {"variable $a as integer := 1, $b; $a := $a + 1; while ($a lt 3) { $a := 2; "
     "continue loop; } $a",
     "(block (sequence (declare $a as integer 1) (declare $b _)) (assign $a (add $a "
     "+ 1)) (while (compare lt $a 3) (block (assign $a 2) (continue) _)) $a)"},
    {"if (1) then { 1; } else { 2; } 3", "(block (if 1 (block 1 _) (block 2 _)) 3)"},
    {"if (1) then variable $y := 2; else $x; $x", "(block (if 1 (sequence (declare $y 2)) $x) $x)"},
    {"switch (1) case 1 return 2; default return 3; 4", "(block (switch 1 (case 1 2) 3) 4)"},
    {"{ variable $x := 1; { $x := 2; } $x }",
     "(block (sequence (declare $x 1)) (block (assign $x 2) _) $x)"},
    {"exit returning 1;", "(block (exit 1) _)"},
    {"for $x in 1 return $r := $x; $r", "(block (flwor (for $x 1) (assign $r $x)) $r)"},
    {"try { 1; } catch * { 2; } 3", "(block (try (block 1 _) (catch *:* (block 2 _))) 3)"},
    {"/* c */ 1 (: a (: b :) c :) + // line\n 2", "(add 1 + 2)"},
    {"$a-1, $a - 1, $é", "(sequence $a-1 (add $a - 1) $é)"},
    {"declare namespace a = \"u\"; declare default function namespace \"f\"; "
     "declare variable $x as integer := 1; declare variable $y external; declare "
     "%an:x(\"a\", 1) function f($a, $b as item) as item* { $a }; declare updating "
     "function g() {}; declare context item as item() := 1; declare option a:b "
     "\"c\"; declare default order empty least; declare default collation \"k\"; "
     "declare decimal-format d decimal-separator = \",\" grouping-separator = "
     "\".\"; declare boundary-space strip; declare copy-namespaces preserve, "
     "inherit; import module namespace j = \"http://jsoniq.org/functions\"; 1",
     "(namespace a \"u\") (default-function \"f\") (variable x as integer 1) "
     "(variable y external) (function f $a $b as item as item* $a) (function g "
     "updating (sequence)) (context as item 1) (option a:b \"c\") (order "
     "empty-least) (collation \"k\") (format d decimal-separator=\",\" "
     "grouping-separator=\".\") (setter \"boundary-space\") (setter "
     "\"copy-namespaces\") (namespace j \"http://jsoniq.org/functions\" external) 1"},
    {"$a[1.49], $a[false]", "(sequence (predicate $a 1.49) (predicate $a false))"},
};

static const struct error_case mistakes[] = {
    {"``[a", "XPST0003", 1, 4, "expected '`{' before the end of the query"},
    {"``[a`{1]``", "XPST0003", 1, 8, "expected '}`', found ]"},
    {"(# ex:a b { 1 }", "XPST0003", 1, 8, "expected '#)' before the end of the query"},
    {"(# ex:a #) { }", "XQST0079", 1, 12, "a pragma that is not known needs an expression"},
    {"xquery version \"2.0\"; 1", "XQST0031", 1, 16,
     "there is XQuery 1.0, 3.0 and 3.1, but no such version"},
    {"xquery encoding \"?\"; 1", "XQST0087", 1, 17, "this is no name of an encoding"},
    {"declare function if() { 1 }; 1", "XPST0003", 1, 18,
     "this name is reserved: no function can have it"},
    {"declare %foo function f() { 1 }; 1", "XQST0045", 1, 9,
     "the namespace of this annotation is not for queries"},
    {"declare %fn:foo function f() { 1 }; 1", "XQST0045", 1, 9,
     "the namespace of this annotation is not for queries"},
    {"%private function() { 1 }", "XQST0125", 1, 1,
     "an inline function is neither public nor private"},
    {"1 = 1 = 1", "XPST0003", 1, 7, "expected parentheses: these operators have no order, found ="},
    {"1 eq 2 lt 3", "XPST0003", 1, 8,
     "expected parentheses: these operators have no order, found lt"},
    {"for $x in (1", "XPST0003", 1, 13, "expected ',' or ')', found the end of the query"},
    {"\"abc", "XPST0003", 1, 1, "the string does not end"},
    {"{ \"a\" : 1", "XPST0003", 1, 10, "expected ',' or '}', found the end of the query"},
    {"{ \"a\" 1 }", "XPST0003", 1, 7, "expected ':', ',' or '}', found 1"},
    {"fn:true", "XPST0003", 1, 8,
     "expected '(' or '#' behind the name of a function, found the end of the query"},
    {"if (1) then 2", "XPST0003", 1, 14, "expected 'else', found the end of the query"},
    {"for $x in 1", "XPST0003", 1, 12,
     "expected an operator, a clause or 'return', found the end of the query"},
    {"1 1", "XPST0003", 1, 3, "expected an operator, ';' or the end, found 1"},
    {"$", "XPST0003", 1, 2, "expected the name of a variable, found the end of the query"},
    {"@", "XPST0003", 1, 1, "the character U+0040 has no meaning here"},
    {"(: x", "XPST0003", 1, 1, "the comment does not end"},
    {"\"\\q\"", "XPST0003", 1, 1, "the string holds an escape that JSON does not know"},
    {"\"\\ud800\"", "XPST0003", 1, 1, "the string holds an escape that JSON does not know"},
    {"1x", "XPST0003", 1, 1, "a number is followed by a name without a space"},
    {"f(1,", "XPST0003", 1, 5, "expected an expression, found the end of the query"},
    {"let $x = 1 return $x", "XPST0003", 1, 8, "expected ':=', found ="},
    {"declare function f { 1 }; 1", "XPST0003", 1, 20, "expected '(', found {"},
    {"declare variable $x : = 1; 1", "XPST0003", 1, 21, "expected ':=' or 'external', found :"},
    {"<a/>", "XPST0003", 1, 1, "expected an expression, found <"},
    {"element a {}", "XPST0003", 1, 9, "expected an operator, ';' or the end, found a"},
    {"attribute(1)", "XPST0003", 1, 1, "this name is reserved: it is no function"},
    {"fn:f(", "XPST0003", 1, 6, "expected an expression, found the end of the query"},
    {"map{ 1:2, }", "XPST0003", 1, 11, "expected an expression, found }"},
    {"for $a at p1 in 1 return 1", "XPST0003", 1, 11, "expected a variable: '$', found p1"},
    {"declare function f() external; 1", "XPST0017", 1, 22, "there are no external functions"},
    {"jsoniq version \"2.0\"; 1", "XQST0031", 1, 16,
     "there is JSONiq 1.0 and 3.1, but no such version"},
    {"module namespace x = \"y\"; 1", "XQST0016", 1, 1, "a query cannot be a library module"},
    {"import schema \"x\"; 1", "XQST0009", 1, 8, "schemas cannot be imported"},
    {"declare nothing; 1", "XPST0003", 1, 9,
     "expected what is declared: a variable, a function, ..., found nothing"},
    {"$a castable as xs:integer*", "XPST0003", 1, 27,
     "expected an expression, found the end of the query"},
};

static enum sirix_status parse(struct sirix_arena *arena, const char *query,
                               enum sirix_syntax_dialect dialect, struct sirix_ast_module **out,
                               struct sirix_query_error *err)
{
    return sirix_syntax_parse(arena, (struct sirix_bytes){query, strlen(query)}, dialect, out, err);
}

static void assert_tree(const char *query, enum sirix_syntax_dialect dialect, const char *tree)
{
    struct sirix_arena arena;
    struct sirix_buf dumped;
    struct sirix_ast_module *module = NULL;
    struct sirix_query_error err = {.line = 0};
    const char *text = NULL;

    sirix_arena_init(&arena, SIZE_MAX);
    sirix_buf_init(&dumped, DUMP_BYTES_MAX);
    if (parse(&arena, query, dialect, &module, &err) != SIRIX_OK) {
        fail_msg("%s: %s at %u:%u", query, err.base.text, err.line, err.column);
    }
    dump_prolog(&dumped, module);
    dump_ast(&dumped, module->body);
    assert_int_equal(sirix_buf_c_str(&dumped, &text, NULL), SIRIX_OK);
    if (strcmp(text, tree) != 0) {
        fail_msg("%s\n  is        %s\n  should be %s", query, text, tree);
    }
    sirix_buf_deinit(&dumped);
    sirix_arena_deinit(&arena);
}

static void assert_mistake(const char *query, enum sirix_syntax_dialect dialect, const char *code)
{
    struct sirix_arena arena;
    struct sirix_ast_module *module = NULL;
    struct sirix_query_error err = {.line = 0};

    sirix_arena_init(&arena, SIZE_MAX);
    if (parse(&arena, query, dialect, &module, &err) != SIRIX_INVALID ||
        strcmp(err.code, code) != 0) {
        fail_msg("%s: %s %s", query, err.code, err.base.text);
    }
    sirix_arena_deinit(&arena);
}

static void a_query_becomes_its_tree(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
        assert_tree(trees[i].query, SIRIX_SYNTAX_SIRIX, trees[i].tree);
    }
}

static void a_mistake_has_code_place_and_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        const struct error_case *mistake = &mistakes[i];
        struct sirix_arena arena;
        struct sirix_ast_module *module = NULL;
        struct sirix_query_error err = {.line = 0};

        sirix_arena_init(&arena, SIZE_MAX);
        if (parse(&arena, mistake->query, SIRIX_SYNTAX_SIRIX, &module, &err) != SIRIX_INVALID) {
            fail_msg("%s is no mistake", mistake->query);
        }
        if (strcmp(err.code, mistake->code) != 0 || err.line != mistake->line ||
            err.column != mistake->column || strcmp(err.base.text, mistake->text) != 0) {
            fail_msg("%s: %s %u:%u %s", mistake->query, err.code, err.line, err.column,
                     err.base.text);
        }
        sirix_arena_deinit(&arena);
    }
}

static void the_dialect_decides_about_escapes(void **state)
{
    (void)state;
    assert_tree("'a\\n'", SIRIX_SYNTAX_SIRIX, "\"a\\n\"");
    assert_tree("'a\\t\\''", SIRIX_SYNTAX_JSONIQ, "\"a\t'\"");
    assert_tree("jsoniq version '1.0'; 'a\\t'", SIRIX_SYNTAX_SIRIX, "\"a\t\"");
    assert_tree("\"a&amp;b\"", SIRIX_SYNTAX_SIRIX, "\"a&amp;b\"");
    assert_tree("\"a&amp;&#65;&#x42;\\n\"", SIRIX_SYNTAX_XQUERY, "\"a&AB\\n\"");
    assert_tree("xquery version '3.1'; \"&lt;\\p\"", SIRIX_SYNTAX_SIRIX, "\"<\\p\"");
    assert_mistake("'\\x'", SIRIX_SYNTAX_JSONIQ, "XPST0003");
    assert_mistake("'\\\"'", SIRIX_SYNTAX_JSONIQ, "XPST0003");
    assert_mistake("\"&nope;\"", SIRIX_SYNTAX_XQUERY, "XPST0003");
    assert_mistake("\"&#0;\"", SIRIX_SYNTAX_XQUERY, "XQST0090");
    assert_mistake("\"&\"", SIRIX_SYNTAX_XQUERY, "XPST0003");
}

static void the_version_sets_the_dialect(void **state)
{
    static const struct {
        const char *query;
        enum sirix_syntax_dialect dialect;
        unsigned version;
    } cases[] = {
        {"1", SIRIX_SYNTAX_SIRIX, 0},
        {"jsoniq version \"1.0\"; 1", SIRIX_SYNTAX_JSONIQ, 10},
        {"jsoniq version \"3.1\" encoding \"utf-8\"; 1", SIRIX_SYNTAX_JSONIQ, 31},
        {"xquery version \"3.1\"; 1", SIRIX_SYNTAX_XQUERY, 0},
        {"xquery encoding \"utf-8\"; 1", SIRIX_SYNTAX_SIRIX, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_arena arena;
        struct sirix_ast_module *module = NULL;
        struct sirix_query_error err = {.line = 0};

        sirix_arena_init(&arena, SIZE_MAX);
        assert_int_equal(parse(&arena, cases[i].query, SIRIX_SYNTAX_SIRIX, &module, &err),
                         SIRIX_OK);
        assert_int_equal(module->dialect, cases[i].dialect);
        assert_int_equal(module->jsoniq_version, cases[i].version);
        sirix_arena_deinit(&arena);
    }
    assert_mistake("jsoniq version \"3.1\"; { a : 1 }", SIRIX_SYNTAX_SIRIX, "XPST0003");
}

static void a_node_knows_its_line_and_column_in_characters(void **state)
{
    struct sirix_arena arena;
    struct sirix_ast_module *module = NULL;
    struct sirix_query_error err = {.line = 0};

    (void)state;
    sirix_arena_init(&arena, SIZE_MAX);
    assert_int_equal(parse(&arena, "(\"\xc3\xa9\xf0\x9f\x98\x80\",\n  (: x\n :) $b)",
                           SIRIX_SYNTAX_SIRIX, &module, &err),
                     SIRIX_OK);
    assert_int_equal(module->body->children[0]->line, 1);
    assert_int_equal(module->body->children[0]->column, 2);
    assert_int_equal(module->body->children[1]->line, 3);
    assert_int_equal(module->body->children[1]->column, 5);
    assert_int_equal(parse(&arena, "\"\xc3\xa9\" @", SIRIX_SYNTAX_SIRIX, &module, &err),
                     SIRIX_INVALID);
    assert_int_equal(err.column, 5);
    sirix_arena_deinit(&arena);
}

static void text_that_is_not_utf8_is_refused(void **state)
{
    (void)state;
    assert_mistake("\"\xff\"", SIRIX_SYNTAX_SIRIX, "XPST0003");
    assert_mistake("\"\xed\xa0\x80\"", SIRIX_SYNTAX_SIRIX, "XPST0003");
    assert_mistake("", SIRIX_SYNTAX_SIRIX, "XPST0003");
    assert_mistake("  (: nothing :) ", SIRIX_SYNTAX_SIRIX, "XPST0003");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_becomes_its_tree),
        cmocka_unit_test(a_mistake_has_code_place_and_sentence),
        cmocka_unit_test(the_dialect_decides_about_escapes),
        cmocka_unit_test(the_version_sets_the_dialect),
        cmocka_unit_test(a_node_knows_its_line_and_column_in_characters),
        cmocka_unit_test(text_that_is_not_utf8_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
