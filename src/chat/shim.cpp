// The one place that calls llama.cpp's `common` chat code: template rendering, tool-call grammar and reply
// parsing. Everything crosses the boundary as UTF-8 text with an explicit length; exceptions never leave it.
#include "chat.h"
#include "common.h"
#include "json.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>

extern "C" {

struct ea_text {
    char * data;
    size_t size;
};

struct ea_templates {
    common_chat_templates_ptr templates;
};

struct ea_parser {
    common_chat_parser_params params;
};

// One request. Absent tools are a null pointer; all texts are JSON except where named otherwise.
struct ea_request {
    const char * messages;
    size_t       messages_size;
    const char * tools;
    size_t       tools_size;
    bool         enable_thinking;
    bool         add_generation_prompt;
};

}  // extern "C"

static ea_text copy_out(const std::string & s) {
    auto * data = static_cast<char *>(std::malloc(s.size() + 1));
    if (!data) {
        throw std::bad_alloc();
    }
    std::memcpy(data, s.data(), s.size());
    data[s.size()] = 0;
    return { data, s.size() };
}

// Runs `body`; a C++ exception becomes the error text and a null result.
template <typename F> static ea_text guarded(ea_text * error, F && body) noexcept {
    try {
        try {
            return copy_out(body());
        } catch (const std::exception & e) {
            *error = copy_out(e.what());
        } catch (...) {
            *error = copy_out("unknown C++ exception");
        }
    } catch (...) {
        *error = { nullptr, 0 };
    }
    return { nullptr, 0 };
}

// As llama-server does with `--reasoning off|on` and its default of keeping recorded reasoning in the history.
static common_chat_params apply(const ea_templates * t, const ea_request & r) {
    common_chat_templates_inputs in;
    in.messages = common_chat_msgs_parse_oaicompat(common_json::parse(std::string(r.messages, r.messages_size)));
    if (r.tools) {
        in.tools = common_chat_tools_parse_oaicompat(common_json::parse(std::string(r.tools, r.tools_size)));
    }
    in.tool_choice           = COMMON_CHAT_TOOL_CHOICE_AUTO;
    in.parallel_tool_calls   = common_chat_templates_get_caps(t->templates.get())["supports_parallel_tool_calls"];
    in.use_jinja             = true;
    in.add_generation_prompt = r.add_generation_prompt;
    in.enable_thinking       = r.enable_thinking;
    in.reasoning_format      = COMMON_REASONING_FORMAT_DEEPSEEK;
    in.chat_template_kwargs["enable_thinking"]    = r.enable_thinking ? "true" : "false";
    in.chat_template_kwargs["preserve_reasoning"] = "true";
    return common_chat_templates_apply(t->templates.get(), in);
}

extern "C" {

void ea_text_free(ea_text t) {
    std::free(t.data);
}

ea_templates * ea_templates_new(const char * source, const char * bos, const char * eos, ea_text * error) {
    ea_templates * out = nullptr;
    guarded(error, [&]() -> std::string {
        // Parsed here first: common_chat_templates_init loses what its own parser says.
        common_chat_template(source, bos, eos);
        out = new ea_templates { common_chat_templates_init(nullptr, source, bos, eos) };
        return {};
    });
    return out;
}

void ea_templates_free(ea_templates * t) {
    delete t;
}

ea_text ea_render(const ea_templates * t, ea_request request, ea_text * error) {
    return guarded(error, [&] { return apply(t, request).prompt; });
}

// Everything of a request but its prompt, as one JSON object.
ea_text ea_format(const ea_templates * t, ea_request request, ea_text * error) {
    return guarded(error, [&] {
        const auto  p = apply(t, request);
        common_json out;
        out["format"]            = std::string(common_chat_format_name(p.format));
        out["format_id"]         = static_cast<int>(p.format);
        out["grammar"]           = p.grammar;
        out["grammar_lazy"]      = p.grammar_lazy;
        auto triggers            = common_json::array();
        for (const auto & g : p.grammar_triggers) {
            common_json o;
            o["type"]  = static_cast<int>(g.type);
            o["value"] = g.value;
            o["token"] = static_cast<int>(g.token);
            triggers.push_back(o);
        }
        out["grammar_triggers"]   = triggers;
        out["preserved_tokens"]   = p.preserved_tokens;
        out["additional_stops"]   = p.additional_stops;
        out["generation_prompt"]  = p.generation_prompt;
        out["thinking_start_tag"] = p.thinking_start_tag;
        out["thinking_end_tags"]  = p.thinking_end_tags;
        out["message_delimiters"] = p.message_delimiters.to_json();
        out["parser"]             = p.parser;
        return out.dump();
    });
}

// What the template can do, as a JSON object of booleans.
ea_text ea_capabilities(const ea_templates * t, ea_text * error) {
    return guarded(error, [&] {
        common_json out;
        for (const auto & c : common_chat_templates_get_caps(t->templates.get())) {
            out[c.first] = c.second;
        }
        return out.dump();
    });
}

ea_parser * ea_parser_new(int format, const char * generation_prompt, const char * parser, ea_text * error) {
    ea_parser * out = nullptr;
    guarded(error, [&]() -> std::string {
        auto p                     = std::make_unique<ea_parser>();
        p->params.format            = static_cast<common_chat_format>(format);
        p->params.reasoning_format  = COMMON_REASONING_FORMAT_DEEPSEEK;
        p->params.generation_prompt = generation_prompt;
        p->params.parse_tool_calls  = true;
        if (*parser) {
            p->params.parser.load(parser);
        }
        out = p.release();
        return {};
    });
    return out;
}

void ea_parser_free(ea_parser * p) {
    delete p;
}

// The reply as an OpenAI message (JSON object).
ea_text ea_parse(const ea_parser * p, const char * text, size_t size, bool partial, ea_text * error) {
    return guarded(error, [&] { return common_chat_parse(std::string(text, size), partial, p->params).to_json_oaicompat().dump(); });
}

}  // extern "C"
