"""What the real programs printed in one good run each, shortened."""

from __future__ import annotations

from typing import Final

THREAD: Final = "ccde7670-b2d7-4113-90d7-20758732d394"
SESSION: Final = "ses_e09e621baffejToZHBuYsifsua"
CODEX: Final = (
    b'{"type":"thread.started","thread_id":"01a1f597-4370-79b2-a48a-fada053bd682"}',
    b'{"type":"turn.started"}',
    b'{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"{}"}}',
    b'{"type":"turn.completed","usage":{"input_tokens":24,"cached_input_tokens":6,"output_tokens":10}}',
)
CLAUDE: Final = (
    f'{{"type":"system","subtype":"init","cwd":"/w","session_id":"{THREAD}","tools":["Bash"]}}'.encode(),
    (
        b'{"type":"assistant","message":{"id":"msg_1","content":[{"type":"tool_use","name":"Bash","input":{"command":"ls"}}],'
        b'"usage":{"input_tokens":100,"cache_read_input_tokens":30,"cache_creation_input_tokens":20,"output_tokens":1}}}'
    ),
    b'{"type":"user","message":{"content":[{"type":"tool_result","content":"f"}]}}',
    (
        b'{"type":"assistant","message":{"id":"msg_2","content":[{"type":"text","text":"Done."}],'
        b'"usage":{"input_tokens":100,"cache_read_input_tokens":30,"cache_creation_input_tokens":20,"output_tokens":1}}}'
    ),
    (
        b'{"type":"result","subtype":"success","is_error":false,"result":"{}","total_cost_usd":0.5,'
        b'"model_usage_since_last_result":{"m":{"inputTokens":200,"outputTokens":14,"cacheReadInputTokens":60,'
        b'"cacheCreationInputTokens":40,"costUSD":0.25}}}'
    ),
)
OPENCODE: Final = (
    f'{{"type":"step_start","sessionID":"{SESSION}","part":{{"type":"step-start"}}}}'.encode(),
    f'{{"type":"tool_use","sessionID":"{SESSION}","part":{{"tool":"bash","state":{{"input":{{"command":"ls"}}}}}}}}'.encode(),
    (
        f'{{"type":"step_finish","sessionID":"{SESSION}","part":{{"reason":"tool-calls","cost":0.25,"tokens":'
        f'{{"input":70,"output":7,"reasoning":2,"cache":{{"write":10,"read":30}}}}}}}}'
    ).encode(),
    f'{{"type":"step_start","sessionID":"{SESSION}","part":{{"type":"step-start"}}}}'.encode(),
    f'{{"type":"text","sessionID":"{SESSION}","part":{{"text":"{{}}"}}}}'.encode(),
    (
        f'{{"type":"step_finish","sessionID":"{SESSION}","part":{{"reason":"stop","cost":0.25,"tokens":'
        f'{{"input":70,"output":7,"reasoning":0,"cache":{{"write":0,"read":30}}}}}}}}'
    ).encode(),
)
