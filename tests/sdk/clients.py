"""The official Python libraries of OpenAI, Anthropic and Google through the proxy.

Each conversation is long enough to be pruned, has tools, and is played streaming and not, through
the workload that passes through and the one that prunes.
"""

import sys

import anthropic
import openai
from google import genai
from google.genai import types

BASE = sys.argv[1]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")
    print(f"ok  python  {what}")


def plain_turns(assistant):
    return [("user" if at % 2 == 0 else assistant, f"turn {at} of a long conversation") for at in range(21)]


def is_pruned(headers, workload):
    return ("x-tessera-context-pruned" in headers) == (workload == "pruned")


def chat(client, workload):
    tools = [{"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}]
    messages = [{"role": role, "content": text} for role, text in plain_turns("assistant")]
    raw = client.chat.completions.with_raw_response.create(model="gpt-5", messages=messages)
    answer = raw.parse()
    check(answer.choices[0].message.content and answer.usage.prompt_tokens > 0, f"openai chat {workload}")
    check(is_pruned(raw.headers, workload), f"openai chat {workload} header")
    text, usage = "", None
    for chunk in client.chat.completions.create(
        model="gpt-5", messages=messages, stream=True, stream_options={"include_usage": True}
    ):
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
        usage = chunk.usage or usage
    check("了解しました 🙂" in text and usage.completion_tokens > 0, f"openai chat {workload} stream")
    called = client.chat.completions.create(model="gpt-5", messages=messages, tools=tools).choices[0].message
    check(called.tool_calls[0].function.name == "weather", f"openai chat {workload} tool call")
    result = {"role": "tool", "tool_call_id": called.tool_calls[0].id, "content": "sunny"}
    done = client.chat.completions.create(
        model="gpt-5", messages=[*messages, called.model_dump(exclude_none=True), result], tools=tools
    )
    check(done.choices[0].finish_reason == "stop", f"openai chat {workload} tool result")


def responses(client, workload):
    tools = [{"type": "function", "name": "weather", "parameters": PARAMETERS, "strict": False}]
    items = [{"role": role, "content": text} for role, text in plain_turns("assistant")]
    answer = client.responses.create(model="gpt-5", input=items)
    check(answer.output_text and answer.usage.input_tokens > 0, f"openai responses {workload}")
    with client.responses.stream(model="gpt-5", input=items) as stream:
        for _ in stream:
            pass
        final = stream.get_final_response()
    check("🙂" in final.output_text and final.usage.output_tokens > 0, f"openai responses {workload} stream")
    called = client.responses.create(model="gpt-5", input=items, tools=tools).output[0]
    check(called.type == "function_call", f"openai responses {workload} tool call")
    result = {"type": "function_call_output", "call_id": called.call_id, "output": "sunny"}
    done = client.responses.create(model="gpt-5", input=[*items, called.model_dump(exclude_none=True), result], tools=tools)
    check(done.output_text, f"openai responses {workload} tool result")


def messages(client, workload):
    tools = [{"name": "weather", "input_schema": PARAMETERS}]
    turns = [{"role": role, "content": text} for role, text in plain_turns("assistant")]
    common = {"model": "claude-opus-4-6", "max_tokens": 100}
    raw = client.messages.with_raw_response.create(messages=turns, **common)
    check(raw.parse().content[0].text and is_pruned(raw.headers, workload), f"anthropic {workload}")
    with client.messages.stream(messages=turns, **common) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    check("🙂" in text and final.usage.output_tokens > 5, f"anthropic {workload} stream")
    with client.messages.stream(messages=turns, tools=tools, **common) as stream:
        called = stream.get_final_message()
    use = called.content[0]
    check(use.type == "tool_use" and use.input == {"city": "Zürich"}, f"anthropic {workload} tool call stream")
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "sunny"}]}
    assistant = {"role": "assistant", "content": [{"type": "tool_use", "id": use.id, "name": use.name, "input": use.input}]}
    done = client.messages.create(messages=[*turns, assistant, result], tools=tools, **common)
    check(done.stop_reason == "end_turn", f"anthropic {workload} tool result")
    thinking = client.messages.create(messages=turns, extra_headers={"x-mock-conduct": "think=1"}, **common)
    follow = [*turns, {"role": "assistant", "content": thinking.content}, {"role": "user", "content": "go on"}]
    done = client.messages.create(messages=follow, **common)
    check(done.content, f"anthropic {workload} signed thinking comes back valid")
    count = client.messages.count_tokens(model="claude-opus-4-6", messages=turns)
    check(count.input_tokens > 0, f"anthropic {workload} count_tokens")
    try:
        client.messages.create(messages=[{"role": "assistant", "content": "first"}], **common)
        check(False, "a wrong first role is rejected")
    except anthropic.BadRequestError as error:
        check("user" in str(error), f"anthropic {workload} error reaches the library")


def gemini(client, workload):
    declaration = types.FunctionDeclaration(name="weather", parameters_json_schema=PARAMETERS)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declaration])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    contents = [types.Content(role=role, parts=[types.Part(text=text)]) for role, text in plain_turns("model")]
    answer = client.models.generate_content(model="gemini-2.5-pro", contents=contents)
    check(answer.text and answer.usage_metadata.prompt_token_count > 0, f"gemini {workload}")
    text = "".join(chunk.text for chunk in client.models.generate_content_stream(model="gemini-2.5-pro", contents=contents))
    check("🙂" in text, f"gemini {workload} stream")
    called = client.models.generate_content(model="gemini-2.5-pro", contents=contents, config=config)
    call = called.function_calls[0]
    check(call.args == {"city": "Zürich"}, f"gemini {workload} tool call")
    response = types.Part.from_function_response(name=call.name, response={"weather": "sunny"})
    follow = [*contents, called.candidates[0].content, types.Content(role="user", parts=[response])]
    done = client.models.generate_content(model="gemini-2.5-pro", contents=follow, config=config)
    check(done.text, f"gemini {workload} tool result")


for workload in ("plain", "pruned"):
    base = f"{BASE}/w/{workload}"
    chat(openai.OpenAI(base_url=f"{base}/v1", api_key="sk-test", max_retries=0), workload)
    responses(openai.OpenAI(base_url=f"{base}/v1", api_key="sk-test", max_retries=0), workload)
    messages(anthropic.Anthropic(base_url=base, api_key="sk-test", max_retries=0), workload)
    gemini(genai.Client(api_key="test", http_options=types.HttpOptions(base_url=base)), workload)
