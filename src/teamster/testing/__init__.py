"""What authors of adapters test with: subclass a contract, supply what it asks for, and let pytest run it.

May touch the doors of the rooms that it has contracts for. Must not be imported by anything that runs.
"""

from teamster.testing.agent_contract import AgentContract
from teamster.testing.agent_requests import agent_request

__all__ = ["AgentContract", "agent_request"]
